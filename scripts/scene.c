/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paints the picture of the demo: a lake before mountains at sunset, 3264 x 2448 pixels as an 8-megapixel
 * camera gives them. Everything comes from value noise, so the picture has what filters are judged by (smooth
 * sky, fine texture, hard edges, glitter) without anybody's photograph.
 *
 *   scene CLEAN.png COMPRESSED.jpg QUALITY
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vips/vips.h>

enum { WIDTH = 3264, HEIGHT = 2448, LAYERS = 4 };

static const float horizon = 0.62f; /* y runs from 0 at the top to 1, x in the same unit */
static const float sun_x = 0.93f, sun_y = 0.45f;

struct color {
    float r, g, b;
};

static struct color mix(struct color a, struct color b, float t)
{
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return (struct color){a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

static struct color scaled(struct color a, float factor)
{
    return (struct color){a.r * factor, a.g * factor, a.b * factor};
}

static float smooth(float low, float high, float x)
{
    float t = (x - low) / (high - low);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/* ---- Noise ---- */

static float lattice(int x, int y, uint32_t seed)
{
    uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u ^ seed * 0xcb1ab31fu;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (float)((h ^ h >> 15) >> 8) * (1.0f / 16777216);
}

/* Value noise, 0..1, about one bump per unit. */
static float noise(float x, float y, uint32_t seed)
{
    float fx = floorf(x), fy = floorf(y);
    int ix = (int)fx, iy = (int)fy;
    float u = x - fx, v = y - fy;
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    float top = lattice(ix, iy, seed) * (1 - u) + lattice(ix + 1, iy, seed) * u;
    float bottom = lattice(ix, iy + 1, seed) * (1 - u) + lattice(ix + 1, iy + 1, seed) * u;
    return top * (1 - v) + bottom * v;
}

/* Sum of octaves, about 0..1. */
static float fractal(float x, float y, int octaves, uint32_t seed)
{
    float sum = 0, weight = 0.5f, total = 0;
    for (int i = 0; i < octaves; i++) {
        sum += weight * noise(x, y, seed + (uint32_t)i);
        total += weight;
        weight *= 0.5f;
        float turned = 1.62f * x + 1.22f * y + 17.1f; /* no octave shares the axes of another */
        y = 1.62f * y - 1.22f * x + 3.7f;
        x = turned;
    }
    return sum / total;
}

/* The same with creases: ridges of mountains. */
static float ridged(float x, float y, int octaves, uint32_t seed)
{
    float sum = 0, weight = 0.5f, total = 0;
    for (int i = 0; i < octaves; i++) {
        float n = 1 - fabsf(2 * noise(x, y, seed + (uint32_t)i) - 1);
        sum += weight * n * n;
        total += weight;
        weight *= 0.5f;
        float turned = 1.62f * x + 1.22f * y + 5.3f;
        y = 1.62f * y - 1.22f * x + 9.1f;
        x = turned;
    }
    return sum / total;
}

/* ---- Sky ---- */

static struct color clear_sky(float x, float y)
{
    const struct color top = {0.13f, 0.24f, 0.47f}, middle = {0.46f, 0.55f, 0.68f},
                       low = {0.98f, 0.74f, 0.47f};
    float t = y / horizon;
    struct color sky = t < 0.62f ? mix(top, middle, t / 0.62f) : mix(middle, low, (t - 0.62f) / 0.3f);
    float distance = hypotf(x - sun_x, y - sun_y);
    sky = mix(sky, (struct color){1, 0.8f, 0.5f}, 0.85f * expf(-distance * distance * 14));
    sky = mix(sky, (struct color){1, 0.93f, 0.75f}, 0.9f * expf(-distance * 19));
    return mix(sky, (struct color){1.3f, 1.25f, 1.1f}, 1 - smooth(0.026f, 0.0285f, distance));
}

static float cloud_cover(float x, float y)
{
    float u = x * 1.9f, v = y * 6.5f; /* flattened by perspective */
    float warp = fractal(u * 1.3f, v * 1.3f, 4, 11);
    return fractal(u + 1.4f * warp, v + 0.9f * warp, 8, 3);
}

static struct color sky(float x, float y)
{
    struct color behind = clear_sky(x, y);
    float cover = cloud_cover(x, y);
    float alpha = smooth(0.45f, 0.66f, cover + 0.1f * (0.42f - y)) * smooth(horizon, 0.38f, y);
    if (alpha <= 0)
        return behind;
    /* Thinner towards the sun means lit. */
    float toward = cloud_cover(x + (sun_x - x) * 0.03f, y + (sun_y - y) * 0.05f);
    float lit = smooth(-0.05f, 0.06f, cover - toward);
    float near_sun = expf(-3.2f * hypotf(x - sun_x, y - sun_y));
    struct color shade =
        mix((struct color){0.36f, 0.37f, 0.48f}, (struct color){0.72f, 0.48f, 0.44f}, near_sun);
    struct color light =
        mix((struct color){0.93f, 0.84f, 0.80f}, (struct color){1.08f, 0.86f, 0.58f}, near_sun);
    return mix(behind, mix(shade, light, lit), 0.92f * alpha);
}

/* ---- Mountains: layers from far to near ---- */

static const struct layer {
    float base, height, frequency, haze;
    uint32_t seed;
} layers[LAYERS] = {
    {0.600f, 0.270f, 1.7f, 0.66f, 101},
    {0.610f, 0.190f, 2.6f, 0.46f, 207},
    {0.616f, 0.100f, 3.9f, 0.26f, 313},
    {0.622f, 0.055f, 7.0f, 0.08f, 419},
};

static float skyline(const struct layer *layer, float x)
{
    float shape = ridged(x * layer->frequency, 0.5f, 7, layer->seed);
    return layer->base -
           layer->height * (0.15f + 0.95f * shape * (0.6f + 0.4f * noise(x * 1.3f, 7, layer->seed)));
}

/* Conifers along the nearest ridge: how far they rise over it. */
static float trees(float x)
{
    float rise = 0;
    for (int i = 0; i < 3; i++) {
        float spacing = 0.0042f + 0.0023f * (float)i, cell = floorf(x / spacing);
        float top = 0.009f + 0.015f * lattice((int)cell, i, 77);
        float center = (cell + 0.3f + 0.4f * lattice((int)cell, i, 78)) * spacing;
        float jagged = 0.75f + 0.5f * noise(x * 2600, (float)i, 79);
        float here = top * (1 - jagged * fabsf(x - center) / (spacing * 0.62f));
        rise = here > rise ? here : rise;
    }
    return rise;
}

static struct color rock(const struct layer *layer, float x, float y)
{
    float f = layer->frequency * 4, detail = ridged(x * f, y * f, 8, layer->seed + 40);
    float right = ridged((x + 0.0022f) * f, (y - 0.0012f) * f, 8, layer->seed + 40);
    float light = 0.6f + 4.5f * (detail - right);
    light = light < 0.12f ? 0.12f : light > 1.25f ? 1.25f : light;
    struct color stone =
        mix((struct color){0.19f, 0.17f, 0.20f}, (struct color){0.40f, 0.33f, 0.29f}, detail);
    float altitude = (layer->base - y) / layer->height;
    float snow =
        smooth(0.30f, 0.50f, altitude + 0.55f * (fractal(x * f * 2, y * f * 2, 7, layer->seed + 9) - 0.5f));
    stone = mix(stone, (struct color){0.93f, 0.90f, 0.92f}, layer->haze > 0.4f ? snow : 0);
    struct color lit = scaled(stone, light);
    return (struct color){lit.r * 1.12f, lit.g * 0.98f, lit.b * 0.90f};
}

static struct color forest(const struct layer *layer, float x, float y)
{
    float leaves = fractal(x * 240, y * 330, 4, layer->seed),
          patches = fractal(x * 22, y * 40, 4, layer->seed + 5);
    struct color dark = {0.045f, 0.065f, 0.055f}, green = {0.20f, 0.21f, 0.10f};
    return mix(dark, green, smooth(0.25f, 0.9f, 0.55f * leaves + 0.5f * patches));
}

/* Everything above the water. */
static struct color land(float x, float y, const float lines[LAYERS])
{
    struct color color = sky(x, y);
    struct color haze = mix((struct color){0.50f, 0.55f, 0.67f}, (struct color){0.96f, 0.72f, 0.50f},
                            expf(-2.4f * fabsf(x - sun_x)));
    for (int i = 0; i < LAYERS; i++) {
        if (y < lines[i])
            continue;
        color = i < 2 ? rock(&layers[i], x, y) : forest(&layers[i], x, y);
        float fog =
            layers[i].haze + 0.35f * smooth(layers[i].base - 0.05f, layers[i].base, y) * layers[i].haze;
        color = mix(color, haze, fog);
    }
    return color;
}

static void paint_land(struct color *picture, int rows)
{
    for (int px = 0; px < WIDTH; px++) {
        float x = ((float)px + 0.5f) / HEIGHT, lines[LAYERS];
        for (int i = 0; i < LAYERS; i++)
            lines[i] = skyline(&layers[i], x) - (i == LAYERS - 1 ? trees(x) : 0);
        for (int py = 0; py < rows; py++)
            picture[(size_t)py * WIDTH + px] = land(x, ((float)py + 0.5f) / HEIGHT, lines);
    }
}

/* ---- Water: the land upside down, moved by waves ---- */

static float wave(float x, float depth)
{
    float scale = 1 / (0.02f + depth); /* waves look longer when they are nearer */
    return fractal(x * scale * 1.1f, 38 * logf(0.02f + depth), 4, 900) - 0.5f +
           0.6f * (fractal(x * scale * 5, 150 * logf(0.02f + depth), 3, 950) - 0.5f);
}

static struct color water(const struct color *picture, int rows, float x, float y)
{
    float depth = y - horizon, tilt = wave(x, depth);
    float from_y = horizon - depth * (0.92f + 0.5f * tilt) - 0.004f - 0.03f * fabsf(tilt);
    float from_x = x + 0.02f * tilt * (0.2f + depth);
    int px = (int)(from_x * HEIGHT), py = (int)(from_y * HEIGHT);
    px = px < 0 ? 0 : px >= WIDTH ? WIDTH - 1 : px;
    py = py < 0 ? 0 : py >= rows ? rows - 1 : py;
    struct color mirrored = picture[(size_t)py * WIDTH + px], deep = {0.05f, 0.10f, 0.15f};
    struct color color = mix(mirrored, deep, 0.18f + 0.9f * depth - 0.35f * tilt);
    /* Glitter below the sun. */
    float path = expf(-powf((x - sun_x) / (0.035f + 0.22f * depth), 2));
    float sparkle = smooth(0.10f, 0.34f, tilt) * path;
    return mix(color, (struct color){1.15f, 0.92f, 0.62f}, 0.85f * sparkle);
}

/* ---- A boat and a pier: straight, hard edges ---- */

static int inside(const float (*points)[2], int count, float x, float y)
{
    int odd = 0;
    for (int i = 0, j = count - 1; i < count; j = i++)
        if ((points[i][1] > y) != (points[j][1] > y) &&
            x < (points[j][0] - points[i][0]) * (y - points[i][1]) / (points[j][1] - points[i][1]) +
                    points[i][0])
            odd = !odd;
    return odd;
}

static int boat(float x, float y, struct color *color)
{
    static const float main_sail[][2] = {
        {0.392f, 0.545f}, {0.392f, 0.672f}, {0.452f, 0.672f}, {0.418f, 0.61f}};
    static const float jib[][2] = {{0.387f, 0.552f}, {0.387f, 0.670f}, {0.352f, 0.670f}};
    static const float hull[][2] = {{0.344f, 0.679f}, {0.462f, 0.679f}, {0.446f, 0.698f}, {0.362f, 0.698f}};
    float cloth = 0.9f + 0.1f * sinf(y * 210 + 30 * x);
    if (inside(main_sail, 4, x, y))
        *color = scaled((struct color){0.96f, 0.90f, 0.80f}, cloth);
    else if (inside(jib, 3, x, y))
        *color = scaled((struct color){0.80f, 0.30f, 0.20f}, cloth);
    else if (inside(hull, 4, x, y))
        *color = y < 0.6825f ? (struct color){0.86f, 0.82f, 0.74f} : (struct color){0.17f, 0.11f, 0.09f};
    else if (fabsf(x - 0.3895f) < 0.0011f && y > 0.53f && y < 0.68f)
        *color = (struct color){0.25f, 0.17f, 0.11f};
    else
        return 0;
    return 1;
}

static int pier(float x, float y, struct color *color)
{
    float left = 1.02f - 0.32f * (y - 0.8f), right = 1.13f + 0.55f * (y - 0.8f);
    if (y > 0.8f && x > left && x < right) { /* planks, wider towards the viewer */
        float across = 1 / (1.02f - y + 0.06f), plank = across * 26, seam = plank - floorf(plank);
        float grain = fractal(x * 90, floorf(plank) * 3 + seam * 2, 5, 555);
        float tone = 0.55f + 0.5f * grain + 0.25f * (lattice((int)plank, 0, 5) - 0.5f);
        *color = scaled((struct color){0.52f, 0.37f, 0.27f}, seam < 0.07f ? 0.25f : tone);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        float depth = 0.795f + 0.055f * (float)i, wide = 0.005f + 0.003f * (float)i,
              tall = 0.045f + 0.02f * (float)i;
        float post = 1.015f - 0.32f * (depth - 0.8f);
        if (fabsf(x - post) < wide && y > depth - tall && y < depth + 0.02f) {
            float round = 1 - 0.6f * fabsf(x - post - wide * 0.4f) / wide;
            *color = scaled((struct color){0.40f, 0.28f, 0.20f},
                            round * (0.7f + 0.5f * fractal(x * 500, y * 60, 4, 31)));
            return 1;
        }
    }
    return 0;
}

static void paint_water(struct color *picture, int rows)
{
    for (int py = rows; py < HEIGHT; py++)
        for (int px = 0; px < WIDTH; px++) {
            float x = ((float)px + 0.5f) / HEIGHT, y = ((float)py + 0.5f) / HEIGHT;
            struct color *at = &picture[(size_t)py * WIDTH + px], reflected;
            float tilt = wave(x, y - horizon);
            *at = water(picture, rows, x, y);
            if (boat(x + 0.012f * tilt, 1.396f - y + 0.02f * tilt, &reflected) && y > 0.696f)
                *at = mix(*at, reflected, 0.55f);
            pier(x, y, at);
        }
}

static void paint_boat(struct color *picture)
{
    for (int py = (int)(0.52f * HEIGHT); py < (int)(0.71f * HEIGHT); py++)
        for (int px = (int)(0.33f * HEIGHT); px < (int)(0.48f * HEIGHT); px++)
            boat(((float)px + 0.5f) / HEIGHT, ((float)py + 0.5f) / HEIGHT, &picture[(size_t)py * WIDTH + px]);
}

/* ---- Out ---- */

static uint8_t level(float value)
{
    value = value / (1 + 0.12f * value * value) * 1.1f; /* a shoulder instead of clipping */
    value = powf(value < 0 ? 0 : value, 0.92f) * 255 + 0.5f;
    return (uint8_t)(value > 255 ? 255 : value);
}

static uint8_t *paint(void)
{
    struct color *picture = calloc((size_t)WIDTH * HEIGHT, sizeof *picture);
    uint8_t *bytes = malloc((size_t)WIDTH * HEIGHT * 3);
    int rows = (int)(horizon * HEIGHT);
    if (!picture || !bytes) {
        free(picture);
        free(bytes);
        return NULL;
    }
    paint_land(picture, rows);
    paint_water(picture, rows);
    paint_boat(picture);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        bytes[3 * i] = level(picture[i].r);
        bytes[3 * i + 1] = level(picture[i].g);
        bytes[3 * i + 2] = level(picture[i].b);
    }
    free(picture);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: scene CLEAN.png COMPRESSED.jpg QUALITY\n");
        return 2;
    }
    uint8_t *bytes = paint();
    if (!bytes || vips_init(argv[0])) {
        fprintf(stderr, "scene: out of memory, or libvips does not start\n");
        return 1;
    }
    VipsImage *image =
        vips_image_new_from_memory(bytes, (size_t)WIDTH * HEIGHT * 3, WIDTH, HEIGHT, 3, VIPS_FORMAT_UCHAR);
    int failed = !image || vips_copy(image, &image, "interpretation", VIPS_INTERPRETATION_sRGB, NULL) ||
                 vips_pngsave(image, argv[1], "compression", 3, NULL) ||
                 vips_jpegsave(image, argv[2], "Q", atoi(argv[3]), NULL);
    if (failed)
        fprintf(stderr, "scene: %s", vips_error_buffer());
    return failed != 0;
}
