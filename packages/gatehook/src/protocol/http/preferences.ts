/** Reads the header `Prefer` (RFC 7240). */
import { Failure } from '../../kernel/failure.ts'
import type { Call } from './call.ts'
import { COMMA, splitUnquoted } from './media-type.ts'

/**
 * Returns the value of each preference with a name, '' for none (RFC 7240: `=""` is no value).
 * Other preferences are ignored.
 */
export function preferenceValues(
  { headers }: Pick<Call, 'headers'>,
  preferenceName: string,
): string[] {
  const { prefer } = headers
  if (prefer === undefined) return []
  const preferences = splitUnquoted(String(prefer), COMMA)
  if (!preferences) throw new Failure('invalid_request', 'The header Prefer has too many parts.')
  return preferences.flatMap((text) => {
    const preference = text.split(';', 1)[0]!
    const at = preference.indexOf('=')
    const [name, value] =
      at < 0 ? [preference, ''] : [preference.slice(0, at), preference.slice(at + 1).trim()]
    return name.trim().toLowerCase() === preferenceName ? [value === '""' ? '' : value] : []
  })
}
