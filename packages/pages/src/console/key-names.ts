/** Names and hints of the newest keys, which the filter of requests offers. */
import type { ApiKey } from './api-shapes.ts'

export type KeyName = Pick<ApiKey, 'id' | 'name' | 'hint'>

/** Other keys are reached by their id. */
export const KEY_NAMES_PATH = '/admin/keys?sort=-id&limit=100'

/** Returns the text to search for: of a secret its end, because a secret must not reach a URL. */
export const searchTextOf = (text: string): string => (/^g[ks]_/.test(text) ? text.slice(-4) : text)
