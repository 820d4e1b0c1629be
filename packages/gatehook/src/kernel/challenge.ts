/** What `WWW-Authenticate` says after an attempt that failed (§3.1, §3.5; RFC 7617, RFC 6750). */

/** After Basic was tried. */
export const BASIC_CHALLENGE = 'Basic realm="gatehook", charset="UTF-8"'

/** After a bearer token was tried. */
export const BEARER_CHALLENGE = 'Bearer error="invalid_token"'
