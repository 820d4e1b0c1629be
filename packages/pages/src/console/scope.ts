/** The scope of the console's data: mode and customer, in the query of every URL. */
import { computed } from '@preact/signals'
import { withQuery } from '../api.ts'
import { keepParameters, place } from '../router.ts'

export type Mode = 'live' | 'test'

export const startScope = (): void => keepParameters(['mode', 'customer'])

/** Undefined: live, the default. */
export const mode = computed<Mode>(() =>
  place.value.query.get('mode') === 'test' ? 'test' : 'live',
)

/**
 * The parameter `mode` of requests and their counts. Requests of unidentified callers have no mode
 * and belong to both.
 */
export const requestModes = (): string => `${mode.value},none`

/** The id of one customer; undefined: all. */
export const customer = computed(() => place.value.query.get('customer') ?? undefined)

/** The members of a query that select the scope. */
export const scopeWords = () => ({ mode: mode.value, customer: customer.value })

/** The current URL with another scope, without its page of the list. */
export function scopeHref(words: Readonly<Record<string, string | undefined>>): string {
  const { path, query } = place.value
  const current = Object.fromEntries(query)
  const { cursor: _, ...rest } = { ...current, ...words }
  return withQuery(path, rest)
}

/** The parameter `mode` of URLs: live is the default. */
export const modeWord = (of: string | null): 'test' | undefined => (of === 'test' ? of : undefined)
