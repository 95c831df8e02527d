/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The `parameter` of an experiment that run_transfers runs is the sum of `1 << way`. */
enum transfer { TRANSFER_COPY, TRANSFER_MAP, TRANSFER_SHARE, TRANSFER_WRAP, TRANSFER_COUNT };
