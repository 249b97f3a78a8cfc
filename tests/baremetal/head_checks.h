/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEAD_CHECKS_H
#define HEAD_CHECKS_H

/* Golden guesses and means of looks, in builds that have them. */
void check_heads(void);

#endif
