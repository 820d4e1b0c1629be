/**
 * The absolute form of http and https URLs. `URL` also accepts other texts, which it changes before
 * it parses them: `http:127.0.0.1`, backslashes, white space in the host. The stored text of such a
 * URL would differ from the requested one. Pure.
 */

/** The scheme, two slashes and an authority; no character that `URL` drops or replaces there. */
const ABSOLUTE = /^https?:\/\/[^/?#\\\s][^\\\s\x00-\x1f\x7f<>"{}|^`]*$/i

/** Whether a text is a URL in the form `https://host…`, exactly as a request uses it. */
export const isAbsoluteUrl = (text: string): boolean =>
  ABSOLUTE.test(text) && text.isWellFormed() && URL.canParse(text)
