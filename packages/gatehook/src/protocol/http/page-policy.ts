/** The `Content-Security-Policy` of the console, the portal and the docs, without its framers. */

/** Scripts are files of this origin and cannot write markup (Trusted Types). */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
