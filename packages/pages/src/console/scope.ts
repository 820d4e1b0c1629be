/** The scope of the console's data: mode and customer, in the query of every URL. */
import { computed } from '@preact/signals'
import { keepParameters, place } from '../router.ts'

export type Mode = 'live' | 'test'

export const startScope = (): void => keepParameters(['mode', 'customer'])

/** Undefined: live, the default. */
export const mode = computed<Mode>(() =>
  place.value.query.get('mode') === 'test' ? 'test' : 'live',
)

/** The id of one customer; undefined: all. */
export const customer = computed(() => place.value.query.get('customer') ?? undefined)

/** The members of a query that select the scope. */
export const scopeWords = () => ({ mode: mode.value, customer: customer.value })
