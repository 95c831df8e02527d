/* SPDX-License-Identifier: BSD-2-Clause */
/* An array filtered by hone instead of by a loop. The loop is here too: it says what is meant, and checks the
 * result. */
#include <hone/hone.h>

#include <stdio.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 480, SIZE = 5 };

static int clamp(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* The mean over SIZE x SIZE pixels, rounded half up; beyond the edge lies the nearest pixel. */
static void box_in_a_loop(const unsigned char *in, unsigned char *out)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 0;
            for (int j = y - SIZE / 2; j < y - SIZE / 2 + SIZE; j++)
                for (int i = x - SIZE / 2; i < x - SIZE / 2 + SIZE; i++)
                    sum += in[clamp(j, HEIGHT - 1) * WIDTH + clamp(i, WIDTH - 1)];
            out[y * WIDTH + x] = (unsigned char)((sum + SIZE * SIZE / 2) / (SIZE * SIZE));
        }
}

/* The same with hone. A device is opened once in a program, a plan made once for all arrays of one size. */
static bool box_with_hone(const unsigned char *in, unsigned char *out, hone_error *error)
{
    const hone_image_desc desc = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 1};
    hone_device *device = NULL;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_step_info step;
    bool failed = hone_device_open(&device, NULL, error) || hone_chain_parse(&chain, "box size=5", error) ||
                  hone_plan_create(&plan, device, chain, &desc, NULL, error) ||
                  hone_plan_apply(plan, in, 0, out, 0, error);
    if (!failed && hone_plan_step(plan, 0, &step))
        printf("device '%s', variant %s %s\n", hone_device_get_info(device)->name, step.variant, step.config);
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
    return !failed;
}

int main(void)
{
    static unsigned char in[WIDTH * HEIGHT], out[WIDTH * HEIGHT], expected[WIDTH * HEIGHT];
    hone_error error;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        in[i] = (unsigned char)(i * 79 >> 5);
    box_in_a_loop(in, expected);
    if (!box_with_hone(in, out, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    int wrong = memcmp(out, expected, sizeof out) != 0;
    puts(wrong ? "wrong: not the same as the loop" : "right: the same as the loop");
    return wrong;
}
