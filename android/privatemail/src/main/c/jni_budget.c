/* SPDX-License-Identifier: Apache-2.0
 * Budgets: their bytes in a direct buffer, at any alignment. */
#include "jni_shim.h"

enum { OWNER_SIZE = 16 };

static jint budgetCreate(JNIEnv *env, jclass native, jobject budget, jbyteArray owner, jdouble response,
                         jdouble gaussian, jdouble delta, jdouble floor, jdouble crowd, jdouble crowd_delta)
{
    (void)native;
    jbyte tag[OWNER_SIZE];
    (*env)->GetByteArrayRegion(env, owner, 0, OWNER_SIZE, tag);
    const pml_budget_caps caps = {.epsilon_response = response,
                                  .epsilon_gaussian = gaussian,
                                  .delta = delta,
                                  .epsilon_floor = floor,
                                  .epsilon_crowd = crowd,
                                  .delta_crowd = crowd_delta};
    return pml_budget_create((*env)->GetDirectBufferAddress(env, budget), (const uint8_t *)tag, &caps);
}

/* One byte more than a budget has, so that longer bytes stay longer. */
static jint budgetRestore(JNIEnv *env, jclass native, jobject budget, jbyteArray owner, jbyteArray bytes)
{
    (void)native;
    jbyte tag[OWNER_SIZE], stored[PML_BUDGET_SIZE + 1] = {0};
    jsize size = (*env)->GetArrayLength(env, bytes);
    if (size > (jsize)sizeof stored)
        size = sizeof stored;
    (*env)->GetByteArrayRegion(env, owner, 0, OWNER_SIZE, tag);
    (*env)->GetByteArrayRegion(env, bytes, 0, size, stored);
    return pml_budget_restore((*env)->GetDirectBufferAddress(env, budget), (const uint8_t *)tag, stored, (size_t)size);
}

static jint budgetRemaining(JNIEnv *env, jclass native, jobject budget, jdoubleArray out)
{
    (void)native;
    pml_budget_left left;
    int status = pml_budget_remaining((*env)->GetDirectBufferAddress(env, budget), &left);
    const jdouble numbers[] = {
        left.epsilon_cap,        left.epsilon_spent, left.mu2_cap,       left.mu2_spent,       left.delta,
        left.floor_cap,          left.floor_spent,   left.crowd_mu2_cap, left.crowd_mu2_spent, left.crowd_delta0_cap,
        left.crowd_delta0_spent, left.crowd_delta};
    (*env)->SetDoubleArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
    return status;
}

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(budgetCreate, "(Ljava/nio/ByteBuffer;[BDDDDDD)I")},
    {PML_JNI_METHOD(budgetRestore, "(Ljava/nio/ByteBuffer;[B[B)I")},
    {PML_JNI_METHOD(budgetRemaining, "(Ljava/nio/ByteBuffer;[D)I")},
};

jint pml_jni_register_budget(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
