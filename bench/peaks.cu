/* SPDX-License-Identifier: BSD-2-Clause */
/* What an NVIDIA GPU can do at most, by CUDA: for bench/roofs. Prints "NAME VALUE" in bytes, operations or seconds, the best of
 * some tries each, on buffers of 512 MiB; transfers of 128 MiB of the host's pageable memory. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const size_t BYTES = 512ull << 20, HOST_BYTES = 128ull << 20, VECTORS = BYTES / 16;
static const int TRIES = 10, THREADS = 256, READS = 16, GROUPS = 132 * 64, ROUNDS = 4096;

static void check(cudaError_t code)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "peaks: %s\n", cudaGetErrorString(code));
        exit(1);
    }
}

__global__ void copy(const float4 *in, float4 *out)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void read(const float4 *in, float4 *out)
{
    size_t n = blockDim.x, i = blockIdx.x * n * READS + threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < READS; k++) {
        float4 a = in[i + k * n];
        sum.x += a.x, sum.y += a.y, sum.z += a.z, sum.w += a.w;
    }
    if (sum.x + sum.y + sum.z + sum.w == 1.5f)
        out[i] = sum;
}

template <class T> __global__ void work(T *out, int rounds, T seed)
{
    T a = seed + (T)threadIdx.x, b = a + seed, c = b + seed, d = c + seed;
    for (int k = 0; k < rounds; k++) {
#pragma unroll
        for (int s = 0; s < 16; s++)
            a = a * seed + b, b = b * seed + c, c = c * seed + d, d = d * seed + a;
    }
    out[blockIdx.x * (size_t)blockDim.x + threadIdx.x] = a + b + c + d;
}

__global__ void near(float4 *out, int rounds)
{
    __shared__ float4 kept[THREADS + 64];
    int i = threadIdx.x;
    kept[i] = make_float4(i, i, i, i);
    if (i < 64)
        kept[THREADS + i] = kept[i];
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < rounds; k++) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
            float4 a = kept[i + (k & 15) + 16 * s];
            sum.x += a.x, sum.y += a.y, sum.z += a.z, sum.w += a.w;
        }
    }
    out[blockIdx.x * (size_t)blockDim.x + i] = sum;
}

__global__ void nothing() {}

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Seconds of the fastest, by the device's clock. */
template <class F> static double device_best(F run)
{
    cudaEvent_t before, after;
    double best = 1e9;
    check(cudaEventCreate(&before));
    check(cudaEventCreate(&after));
    for (int i = 0; i < TRIES; i++) {
        float ms = 0;
        check(cudaEventRecord(before));
        run();
        check(cudaEventRecord(after));
        check(cudaEventSynchronize(after));
        check(cudaEventElapsedTime(&ms, before, after));
        best = ms * 1e-3 < best ? ms * 1e-3 : best;
    }
    check(cudaGetLastError());
    return best;
}

template <class F> static double host_best(F run)
{
    double best = 1e9;
    for (int i = 0; i < TRIES; i++) {
        double start = now();
        run();
        double spent = now() - start;
        best = spent < best ? spent : best;
    }
    return best;
}

int main()
{
    float4 *a, *b;
    std::vector<char> host(HOST_BYTES, 1);
    check(cudaMalloc(&a, BYTES));
    check(cudaMalloc(&b, BYTES));
    check(cudaMemset(a, 0, BYTES));
    for (double start = now(); now() - start < 0.2;) { /* until clocks have risen */
        copy<<<VECTORS / THREADS, THREADS>>>(a, b);
        check(cudaDeviceSynchronize());
    }
    printf("copy by buffer|%g\n", 2.0 * BYTES / device_best([&] { copy<<<VECTORS / THREADS, THREADS>>>(a, b); }));
    printf("read by buffer|%g\n", BYTES / device_best([&] { read<<<VECTORS / THREADS / READS, THREADS>>>(a, b); }));
    const double steps = 2.0 * 4 * 16 * ROUNDS * GROUPS * THREADS;
    printf("arithmetic, float by mad()|%g\n", steps / device_best([&] { work<float><<<GROUPS, THREADS>>>((float *)b, ROUNDS, 3); }));
    printf("arithmetic, int|%g\n", steps / device_best([&] { work<int><<<GROUPS, THREADS>>>((int *)b, ROUNDS, 3); }));
    printf("read local memory|%g\n", 64.0 * ROUNDS * GROUPS * THREADS / device_best([&] { near<<<GROUPS, THREADS>>>(b, ROUNDS); }));
    printf("transfer to the device|%g\n", HOST_BYTES / host_best([&] { check(cudaMemcpy(a, host.data(), HOST_BYTES, cudaMemcpyHostToDevice)); }));
    printf("transfer to the host|%g\n", HOST_BYTES / host_best([&] { check(cudaMemcpy(host.data(), a, HOST_BYTES, cudaMemcpyDeviceToHost)); }));
    printf("launch|%g\n", host_best([&] { nothing<<<1, 1>>>(); check(cudaDeviceSynchronize()); }));
    return 0;
}
