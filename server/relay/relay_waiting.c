/* SPDX-License-Identifier: Apache-2.0
 * Requests that wait without a thread: their connections are suspended. Everything here is done under the relay's
 * lock. */
#include "relay_state.h"

bool relay_wait(struct pml_relay *relay, struct MHD_Connection *connection, const void *what, double until)
{
    if (relay->waiter_count == relay->options.waiting || atomic_load(&relay->stopping))
        return false;
    MHD_suspend_connection(connection);
    relay->waiters[relay->waiter_count++] = (struct relay_waiter){connection, what, until};
    return true;
}

static void wake(struct pml_relay *relay, size_t index)
{
    MHD_resume_connection(relay->waiters[index].connection);
    relay->waiters[index] = relay->waiters[--relay->waiter_count];
}

void relay_wake(struct pml_relay *relay, const void *what)
{
    for (size_t i = relay->waiter_count; i-- > 0;) {
        if (!what || relay->waiters[i].what == what)
            wake(relay, i);
    }
}

void relay_wake_late(struct pml_relay *relay, double now)
{
    for (size_t i = relay->waiter_count; i-- > 0;) {
        if (relay->waiters[i].until <= now)
            wake(relay, i);
    }
}
