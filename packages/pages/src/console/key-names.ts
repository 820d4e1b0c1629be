/** Names and hints of the newest keys, which filters and the palette offer. */
import { get } from '../api.ts'
import type { ApiKey, Page } from './api-shapes.ts'

export type KeyName = Pick<ApiKey, 'id' | 'name' | 'hint'>

/** Other keys are reached by their id or name. */
export const KEY_NAMES_PATH = '/admin/keys?sort=-id&limit=100'

const FULL_KEY = /^gk_(?:live|test)_\w*(\w{4})$/
const LAST_CHARACTERS = /^\w{4}$/

/** The visible end of a key in a text; a key itself must not reach a URL. */
export const keyEndOf = (text: string): string | undefined =>
  FULL_KEY.exec(text)?.[1] ?? LAST_CHARACTERS.exec(text)?.[0]

/** Returns the newest keys whose secret ends so. */
export async function findKeysByEnd(end: string, signal: AbortSignal): Promise<readonly ApiKey[]> {
  const { data } = await get<Page<ApiKey>>(KEY_NAMES_PATH, { signal })
  return data.filter(({ hint }) => hint.endsWith(end))
}
