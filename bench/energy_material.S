/* SPDX-License-Identifier: Apache-2.0
 * What the firmware of bench/energy.py reads, as files: a pack, an answer, the features of a query. */
    .section .rodata.energy_material, "a"
    .global energy_pack, energy_pack_end, energy_answer, energy_answer_end, energy_features
    .balign 8
energy_pack:
    .incbin ENERGY_PACK
energy_pack_end:
    .balign 8
energy_answer:
    .incbin ENERGY_ANSWER
energy_answer_end:
    .balign 8
energy_features:
    .incbin ENERGY_FEATURES
    .section .note.GNU-stack, "", %progbits
