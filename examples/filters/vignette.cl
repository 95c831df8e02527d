// SPDX-License-Identifier: BSD-2-Clause
//@filter summary darkens the corners, or with a negative amount takes a lens's darkening away
//@filter param amount real -1..1 = 0.5: what the farthest corner loses, as part of its light
//@filter param start real 0..1 = 0.3: where it begins, as part of the way from the centre to the corner
//@filter param x real 0..1 = 0.5: the centre, as part of the width
//@filter param y real 0..1 = 0.5: the centre, as part of the height

hone_pixel
{
    float2 size = (float2)((float)hone_width, (float)hone_height), centre = size * (float2)(x, y);
    float2 farthest = fmax(centre, size - centre);
    float2 away = (float2)((float)hone_x + 0.5f, (float)hone_y + 0.5f) - centre;
    float far = sqrt(dot(away, away) / dot(farthest, farthest));
    float part = clamp((far - start) / fmax(1.0f - start, 1e-6f), 0.0f, 1.0f);
    return hone_in(0, 0) * (1.0f - amount * part * part * (3.0f - 2.0f * part));
}
