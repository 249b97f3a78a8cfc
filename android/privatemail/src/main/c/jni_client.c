/* SPDX-License-Identifier: Apache-2.0
 * Clients: Java holds their memory and their lock, so no two calls for one client overlap. */
#include "jni_shim.h"

#include "privatemail_platform.h"

/* Lets Java store the budget. What the store throws stays pending until the native method returns to Java; on the way
 * there nothing calls the virtual machine but the release of a reference, which is allowed. */
static int persist(void *context, const uint8_t *bytes, size_t size)
{
    const struct pml_jni_client *state = context;
    JNIEnv *env = state->env;
    jbyteArray array = (*env)->NewByteArray(env, (jsize)size);
    if (!array)
        return -1;
    (*env)->SetByteArrayRegion(env, array, 0, (jsize)size, (const jbyte *)bytes);
    (*env)->CallStaticVoidMethod(env, state->native, pml_jni_persist, state->budget, array);
    bool thrown = (*env)->ExceptionCheck(env);
    (*env)->DeleteLocalRef(env, array);
    return thrown ? -1 : 0;
}

/* NULL for a client without a crowd. */
static const pml_crowd *policy_of(JNIEnv *env, jobject policy)
{
    return policy ? pml_jni_aligned(env, policy) : NULL;
}

static jint clientSize(JNIEnv *env, jclass native, jobject pack, jobject view, jint mechanism, jobject policy)
{
    (void)native, (void)pack;
    const pml_config config = {.mechanism = (pml_mechanism)mechanism, .crowd = policy_of(env, policy)};
    const pml_pack *opened = pml_jni_aligned(env, view);
    /* 0 when the pack does not serve the mechanism: clientInit then says why */
    size_t size = pml_client_size(opened, &config) + pml_ranking_size(opened);
    return (jint)(PML_JNI_SLACK + sizeof(struct pml_jni_client) + size);
}

static jint clientInit(JNIEnv *env, jclass native, jobject pack, jobject view, jobject memory, jint size,
                       jint mechanism, jdouble epsilon, jdouble delta, jint value_bytes, jboolean substitute,
                       jobject policy)
{
    (void)native, (void)pack;
    struct pml_jni_client *state = pml_jni_aligned(env, memory);
    const pml_config config = {.mechanism = (pml_mechanism)mechanism,
                               .epsilon = epsilon,
                               .delta = delta,
                               .value_bytes = (unsigned)value_bytes,
                               .substitute = substitute == JNI_TRUE,
                               .entropy = pml_platform_entropy,
                               .persist = persist,
                               .persist_context = state,
                               .crowd = policy_of(env, policy),
                               .kernels = pml_platform_kernels()};
    state->pack = pml_jni_aligned(env, view);
    state->substitute = config.substitute;
    state->crowd = config.crowd != NULL;
    state->ranking = NULL;
    state->ranking_size = pml_ranking_size(state->pack);
    return pml_client_init(&state->client, (uint8_t *)(state + 1) + state->ranking_size,
                           (size_t)size - PML_JNI_SLACK - sizeof *state - state->ranking_size, state->pack, &config);
}

static jint receipt(JNIEnv *env, jclass native, jobject client, jobject memory, jdoubleArray out)
{
    (void)native, (void)client;
    pml_receipt r;
    int status = pml_client_receipt(pml_jni_client_of(env, memory), &r);
    const jdouble numbers[] = {r.mechanism, r.epsilon, r.delta,          r.sensitivity,      r.sigma,
                               r.mu,        r.keep,    (jdouble)r.bytes, (jdouble)r.messages};
    (*env)->SetDoubleArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
    return status;
}

/* What is settled with a budget: these, or the pml_bundle that a client of a crowd is armed for. */
enum { DISARM = -1, ARM = 0 };

static pml_status settle_with(pml_client *client, pml_budget *budget, jint what)
{
    if (what == DISARM)
        return pml_client_disarm(client, budget);
    return what == ARM ? pml_client_arm(client, budget) : pml_crowd_arm(client, budget, (pml_bundle)what);
}

static jint settle(JNIEnv *env, jclass native, jobject client, jobject memory, jobject budget, jobject bytes, jint what)
{
    (void)client;
    struct pml_jni_client *state = pml_jni_aligned(env, memory);
    pml_budget *paying = (*env)->GetDirectBufferAddress(env, bytes);
    state->env = env;
    state->native = native;
    state->budget = budget;
    int status = settle_with(state->client, paying, what);
    state->env = NULL;
    state->native = NULL;
    state->budget = NULL;
    return status;
}

static jint release(JNIEnv *env, jclass native, jobject object, jobject memory, jobject features, jint first,
                    jint count, jint label, jint modality, jobject out, jint capacity)
{
    (void)native, (void)object;
    const pml_query query = pml_jni_query(env, features, first, count, label, modality);
    return pml_client_release(pml_jni_client_of(env, memory), &query, (*env)->GetDirectBufferAddress(env, out),
                              (size_t)capacity);
}

static void clientWipe(JNIEnv *env, jclass native, jobject client, jobject memory)
{
    (void)native, (void)client;
    pml_client_wipe(pml_jni_client_of(env, memory));
    pml_ranking_wipe(pml_jni_ranking_of(env, memory));
}

#define CLIENT "(Lorg/privatemail/Client;Ljava/nio/ByteBuffer;"

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(clientSize, "(Lorg/privatemail/Pack;Ljava/nio/ByteBuffer;ILjava/nio/ByteBuffer;)I")},
    {PML_JNI_METHOD(clientInit, "(Lorg/privatemail/Pack;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;IIDDIZ"
                                "Ljava/nio/ByteBuffer;)I")},
    {PML_JNI_METHOD(receipt, CLIENT "[D)I")},
    {PML_JNI_METHOD(settle, CLIENT "Lorg/privatemail/Budget;Ljava/nio/ByteBuffer;I)I")},
    {PML_JNI_METHOD(release, CLIENT "Ljava/nio/FloatBuffer;IIIILjava/nio/ByteBuffer;I)I")},
    {PML_JNI_METHOD(clientWipe, CLIENT ")V")},
};

jint pml_jni_register_client(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
