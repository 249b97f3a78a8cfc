/* SPDX-License-Identifier: Apache-2.0
 * Crowds: policies in direct buffers of their own, their accounting, and bundles. */
#include "jni_shim.h"

#include "privatemail_crowd.h"

/* ---- policies ---- */

static jint crowdSize(JNIEnv *env, jclass native)
{
    (void)env, (void)native;
    return (jint)sizeof(pml_crowd) + PML_JNI_SLACK;
}

/* Numbers below 0 become large ones, which the library refuses. */
static void crowdFill(JNIEnv *env, jclass native, jobject policy, jlong clients, jdouble clusters, jint copies,
                      jint own, jdouble relay_clusters, jboolean cover, jdouble delta0, jdouble mu)
{
    (void)native;
    pml_crowd *crowd = pml_jni_aligned(env, policy);
    *crowd = (pml_crowd){.clients = (uint64_t)clients,
                         .clusters = clusters,
                         .copies = (uint32_t)copies,
                         .own = (uint32_t)own,
                         .relay_clusters = relay_clusters,
                         .cover = cover == JNI_TRUE,
                         .delta0 = delta0,
                         .mu = mu};
}

/* ---- accounting ---- */

static jint bytes_of(size_t doubles)
{
    return (jint)(doubles * sizeof(double)) + PML_JNI_SLACK;
}

static size_t doubles_in(jint size)
{
    return ((size_t)size - PML_JNI_SLACK) / sizeof(double);
}

static jint crowdScratch(JNIEnv *env, jclass native, jobject policy, jint cells, jint queries, jdouble floor)
{
    (void)native;
    const pml_crowd_use use = {.cells = (uint32_t)cells, .queries = (uint32_t)queries, .floor = floor};
    return bytes_of(pml_crowd_scratch(pml_jni_aligned(env, policy), &use));
}

static jint planScratch(JNIEnv *env, jclass native)
{
    (void)env, (void)native;
    return bytes_of(PML_CROWD_SCRATCH_MAX);
}

static pml_status mu_of(const pml_crowd *crowd, const pml_crowd_use *use, double delta0, double *scratch, size_t count,
                        double *mu)
{
    return pml_crowd_mu(crowd, use->cells, delta0, scratch, count, mu);
}

/* `what`: δ at ε, ε for δ, or μ for δ₀, as Native.java numbers them. */
static jint crowdAccount(JNIEnv *env, jclass native, jint what, jobject policy, jint cells, jint queries, jdouble floor,
                         jdouble at, jobject scratch, jint size, jdoubleArray out)
{
    static pml_status (*const accounts[])(const pml_crowd *, const pml_crowd_use *, double, double *, size_t,
                                          double *) = {pml_crowd_delta, pml_crowd_epsilon, mu_of};
    (void)native;
    double found;
    const pml_crowd_use use = {.cells = (uint32_t)cells, .queries = (uint32_t)queries, .floor = floor};
    int status =
        accounts[what](pml_jni_aligned(env, policy), &use, at, pml_jni_aligned(env, scratch), doubles_in(size), &found);
    (*env)->SetDoubleArrayRegion(env, out, 0, 1, &found);
    return status;
}

static jint crowdPlan(JNIEnv *env, jclass native, jint cells, jint queries, jdouble floor, jlong clients,
                      jdouble honest, jdouble epsilon, jdouble delta, jint copies_max, jint own, jboolean relay,
                      jobject scratch, jint size, jdoubleArray out)
{
    (void)native;
    const pml_crowd_goal goal = {.use = {.cells = (uint32_t)cells, .queries = (uint32_t)queries, .floor = floor},
                                 .clients = (uint64_t)clients,
                                 .honest = honest,
                                 .epsilon = epsilon,
                                 .delta = delta,
                                 .copies_max = (uint32_t)copies_max,
                                 .own = (uint32_t)own,
                                 .relay = relay == JNI_TRUE};
    pml_crowd_planned plan;
    int status = pml_crowd_plan(&goal, pml_jni_aligned(env, scratch), doubles_in(size), &plan);
    const jdouble numbers[] = {(jdouble)plan.crowd.clients, plan.crowd.clusters, plan.crowd.copies, plan.crowd.own,
                               plan.crowd.relay_clusters,   plan.fakes,          plan.delta,        plan.needed};
    (*env)->SetDoubleArrayRegion(env, out, 0, sizeof numbers / sizeof *numbers, numbers);
    return status;
}

/* ---- bundles ---- */

static jint bundleBegin(JNIEnv *env, jclass native, jobject client, jobject memory, jobject features, jint first,
                        jint count, jint label, jint modality, jobject kept, jint kept_size)
{
    (void)native, (void)client;
    const pml_query query = pml_jni_query(env, features, first, count, label, modality);
    const pml_crowd_content content = {.query = features ? &query : NULL,
                                       .kept = kept ? (*env)->GetDirectBufferAddress(env, kept) : NULL,
                                       .kept_size = (size_t)kept_size};
    return pml_crowd_begin(pml_jni_client_of(env, memory), &content);
}

static jint bundleLeft(JNIEnv *env, jclass native, jobject client, jobject memory)
{
    (void)native, (void)client;
    return (jint)pml_crowd_left(pml_jni_client_of(env, memory));
}

static jint bundleNext(JNIEnv *env, jclass native, jobject client, jobject memory, jobject out, jint capacity)
{
    (void)native, (void)client;
    unsigned own;
    int status = pml_crowd_next(pml_jni_client_of(env, memory), (*env)->GetDirectBufferAddress(env, out),
                                (size_t)capacity, &own);
    return status == PML_OK ? (jint)own : status;
}

#define POLICY "(Ljava/nio/ByteBuffer;"
#define CLIENT "(Lorg/privatemail/Client;Ljava/nio/ByteBuffer;"

static const JNINativeMethod methods[] = {
    {PML_JNI_METHOD(crowdSize, "()I")},
    {PML_JNI_METHOD(crowdFill, POLICY "JDIIDZDD)V")},
    {PML_JNI_METHOD(crowdScratch, POLICY "IID)I")},
    {PML_JNI_METHOD(planScratch, "()I")},
    {PML_JNI_METHOD(crowdAccount, "(ILjava/nio/ByteBuffer;IIDDLjava/nio/ByteBuffer;I[D)I")},
    {PML_JNI_METHOD(crowdPlan, "(IIDJDDDIIZLjava/nio/ByteBuffer;I[D)I")},
    {PML_JNI_METHOD(bundleBegin, CLIENT "Ljava/nio/FloatBuffer;IIIILjava/nio/ByteBuffer;I)I")},
    {PML_JNI_METHOD(bundleLeft, CLIENT ")I")},
    {PML_JNI_METHOD(bundleNext, CLIENT "Ljava/nio/ByteBuffer;I)I")},
};

jint pml_jni_register_crowd(JNIEnv *env, jclass native)
{
    return PML_JNI_REGISTER(env, native, methods);
}
