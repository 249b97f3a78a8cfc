/* SPDX-License-Identifier: Apache-2.0
 * In place of the stages of the Gaussian, where a driver is about the client around them: each checks that it may read what
 * it is given, and writes any values that its header allows. The drivers `gaussian` and `draws` have what is inside. */
#include "arbitrary.h"
#include "core/stages/stages.h"

void pml_label_rows(const pml_pack *pack, uint32_t (*weight_of)(uint32_t, uint32_t), int64_t *rows)
{
    (void)weight_of;
    make_any(rows, sizeof *rows * pack->slots * pack->dimensions);
}

uint32_t pml_weights_floor(uint32_t lambda)
{
    (void)lambda;
    return Frama_C_unsigned_int_interval(1, 65536);
}

uint32_t pml_weights_label(uint32_t distance, uint32_t lambda)
{
    (void)distance;
    (void)lambda;
    return Frama_C_unsigned_int_interval(0, 65536);
}

pml_status pml_certificate_of(const pml_pack *pack, uint32_t floor, const int64_t *label_rows, int64_t *centres,
                              int64_t *scratch, pml_certificate *certificate)
{
    const size_t count = (size_t)pack->slots * pack->dimensions;
    //@ assert \valid_read(label_rows + (0 .. count - 1));
    make_any(scratch, sizeof *scratch * 2 * pack->neighbours);
    for (size_t i = 0; i < count && centres; i++) /* 16384 per unit, and no row is 2^20 units away */
        centres[i] = Frama_C_long_long_interval(-((int64_t)1 << 35), (int64_t)1 << 35);
    if (any_bool())
        return PML_ERROR_SENSITIVITY;
    certificate->sensitivity = Frama_C_double_interval(0x1p-8, 0x1.fffffffffffffp19);
    certificate->row_bound = Frama_C_double_interval(0.0, 0x1.fffffffffffffp19);
    certificate->floor_weight = floor;
    return PML_OK;
}

pml_status pml_pack_calibrate(const pml_pack *pack, const pml_certificate *certificate, double epsilon, double delta,
                              unsigned value_bytes, pml_calibration *calibration)
{
    (void)pack;
    (void)epsilon;
    (void)delta;
    //@ assert \initialized(&certificate->sensitivity) && \initialized(&certificate->row_bound);
    //@ assert value_bytes == 1 || value_bytes == 2;
    (void)certificate;
    (void)value_bytes;
    memset(calibration, 0, sizeof *calibration);
    if (any_bool())
        return PML_ERROR_EPSILON;
    calibration->ratio = Frama_C_double_interval(0x1p-7, 0x1p22);
    calibration->grid = Frama_C_unsigned_int_interval(1, 1u << 18);
    calibration->shift = Frama_C_unsigned_int_interval(8, 22);
    calibration->coarsen = Frama_C_unsigned_int_interval(0, 31);
    calibration->step = Frama_C_unsigned_int_interval(1, UINT32_MAX);
    calibration->sigma = Frama_C_double_interval(0x1p8, 0x1p40);
    calibration->mu = Frama_C_double_interval(0.0, 1024.0);
    return PML_OK;
}

void pml_neighbours_find(const pml_pack *pack, const struct pml_kernels *kernels, const int8_t *row, uint64_t *keys)
{
    //@ assert kernels != \null && \valid_read(row + (0 .. pack->features - 1));
    (void)kernels;
    (void)row;
    make_any(keys, sizeof *keys * pack->neighbours);
}

uint32_t pml_weights_of(int64_t score, uint32_t inverse, uint32_t lambda, uint32_t floor)
{
    (void)score;
    (void)lambda;
    //@ assert 1 <= floor <= 65536;
    (void)inverse;
    (void)floor;
    return Frama_C_unsigned_int_interval(1, 65536);
}

void pml_update_row(const pml_pack *pack, uint32_t slot, const int64_t *label_row, const uint32_t *indices,
                    const uint32_t *weights, uint32_t grid, int32_t *row)
{
    //@ assert slot < pack->slots;
    //@ assert grid >= 1;
    //@ assert \valid_read(label_row + (0 .. pack->dimensions - 1));
    //@ assert \valid_read(indices + (0 .. pack->neighbours - 1)) && \valid_read(weights + (0 .. pack->neighbours - 1));
    (void)slot;
    (void)label_row;
    (void)indices;
    (void)weights;
    (void)grid;
    make_any(row, sizeof *row * pack->dimensions);
}

void pml_gaussian_draw(pml_random *random, uint32_t shift, int32_t *noise, size_t count)
{
    //@ assert 8 <= shift <= 22;
    (void)shift;
    (void)pml_random_word(random);
    for (size_t i = 0; i < count; i++)
        noise[i] = Frama_C_interval(-(1 << 28), 1 << 28);
}

void pml_gaussian_emit(const int32_t *noise, const int64_t *centres, const int32_t *row, uint32_t slot, uint32_t slots,
                       uint32_t dimensions, uint32_t coarsen, unsigned value_bytes, uint8_t *body)
{
    const size_t count = (size_t)slots * dimensions;
    //@ assert \valid_read(noise + (0 .. count - 1)) && \valid_read(row + (0 .. dimensions - 1));
    //@ assert \initialized(row + (0 .. dimensions - 1)) && coarsen <= 31;
    //@ assert \valid_read(centres + (0 .. count - 1));
    for (size_t i = 0; i < count; i++) {
        const int64_t centre = centres[i]; /* what the driver `draws` takes as given */
        //@ assert -0x40000000 <= centre <= 0x40000000;
        (void)centre;
    }
    (void)noise;
    (void)row;
    (void)slot;
    (void)coarsen;
    make_any(body, count * value_bytes);
}
