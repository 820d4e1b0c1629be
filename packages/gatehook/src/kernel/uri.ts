/**
 * URIs by RFC 3986, as `format: uri` of OpenAPI promises them. `URL` accepts more: it removes tabs
 * and line breaks, and reads a backslash as a slash, so that the checked host is not the stored
 * one. A valid text is stored as it was sent. Pure.
 */

const PERCENT = '%[0-9A-Fa-f]{2}'
const CHARACTERS = "A-Za-z0-9\\-._~!$&'()*+,;="
const segment = `(?:[${CHARACTERS}:@]|${PERCENT})`
const user = `(?:(?:[${CHARACTERS}:]|${PERCENT})*@)?`
const host = `(?:\\[[0-9A-Fa-f:.]+\\]|(?:[${CHARACTERS}]|${PERCENT})+)`
const rest = `(?:/${segment}*)*(?:\\?(?:${segment}|[/?])*)?(?:#(?:${segment}|[/?])*)?`
const URI = new RegExp(
  `^[A-Za-z][A-Za-z0-9+.-]*:(?:${segment}+|//${user}${host}?(?::[0-9]*)?)?${rest}$`,
)
const WEB_URL = new RegExp(`^[Hh][Tt][Tt][Pp][Ss]?://${user}${host}(?::[0-9]*)?${rest}$`)

/** Whether a text has the syntax of a URI of any scheme. */
export const isUri = (text: string): boolean => URI.test(text)

/** Whether a text is an absolute http or https URL, whose characters are those of a URI. */
export const isWebUrl = (text: string): boolean => WEB_URL.test(text) && URL.canParse(text)
