// SPDX-License-Identifier: BSD-2-Clause
//@filter summary sharpens: adds what a Gaussian blur takes away
//@filter param amount real 0..10 = 1: how much of it
//@filter param sigma real 0.3..20 = 1.5 pixels: of the blur
//@filter param threshold real 0..1 = 0: smaller differences, of the full range, stay as they are
//@filter window 3*sigma

hone_pixel
{
    int reach = (int)ceil(3.0f * sigma);
    float4 here = hone_in(0, 0), sum = 0.0f;
    float weights = 0.0f;
    for (int dy = -reach; dy <= reach; dy++)
        for (int dx = -reach; dx <= reach; dx++) {
            float weight = exp(-(float)(dx * dx + dy * dy) / (2.0f * sigma * sigma));
            sum += weight * hone_in(dx, dy);
            weights += weight;
        }
    float4 difference = here - sum / weights;
    float4 kept = select((float4)(0.0f), difference, fabs(difference) >= threshold);
    return here + amount * kept;
}
