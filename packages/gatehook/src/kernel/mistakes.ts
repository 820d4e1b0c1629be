/**
 * The codes of single mistakes in `errors[]`, beside the codes of failures and the names of
 * declared checks. `docs/reference/errors.md` follows from this table.
 */
export const mistakes = {
  required: 'The member is missing.',
  unknown_field: 'The version of the request has no such member.',
  read_only: 'The caller cannot write the member, or cannot change it now.',
  invalid_type: 'The value has another JSON type.',
  invalid_format: 'The text does not have the format.',
  invalid_value: 'The value is not one of those allowed, or not together with the others.',
  too_short: 'The text has too few characters, or the array too few items.',
  too_long: 'The text has too many characters, or the array or object too many entries.',
  too_small: 'The value is below the minimum.',
  too_large: 'The value is above the maximum; of a receiver: its response is too large.',
  password_too_common: 'The password is one that many people use.',
  too_deep: 'The body is nested too deeply.',
  duplicate_member: 'An object of the body has two members of one name.',
  prototype_key: 'A member is named `__proto__` or `constructor.prototype`.',
  nul: 'A string contains the character U+0000.',
  lone_surrogate: 'A string contains half a surrogate pair.',
  number_too_large: 'A number is too large to be exact.',
  number_too_precise: 'A fraction has more digits than a number can represent.',
  timeout: 'The receiver did not respond in time.',
  address: 'The host of the receiver leads to no address that may be called.',
  refused: 'The receiver refused the connection.',
  unreachable: 'No route leads to the receiver.',
  reset: 'The connection to the receiver ended early.',
  tls: 'The certificate or the TLS handshake of the receiver is not valid.',
  blocked: 'The address in the URL of the receiver is not allowed.',
  protocol: 'The response of the receiver is not valid HTTP.',
  aborted: 'The server ended the request to the receiver.',
} as const

/** The name of a declared check, which is the code of its mistake. */
export type CheckCode = string & { readonly isCheckName: true }

export type MistakeCode = keyof typeof mistakes
