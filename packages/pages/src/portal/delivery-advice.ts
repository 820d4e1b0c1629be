/** Advice on a delivery that the receiver did not accept, by the last attempt. */
import type { Delivery } from './platform-types.ts'

export type DeliveryAttempt = Delivery['attempts'][number]

const SIGNATURE =
  'The endpoint rejected the delivery. Verify the signature over the raw body, with the present ' +
  'secret of this endpoint.'
const OTHER_SECRET =
  'The receiver verifies with another secret than that of this endpoint. Configure the present ' +
  'secret; if it is lost, rotate it.'
const PATH = 'The endpoint has no such path for POST. Correct the URL of the endpoint.'

const BY_STATUS: Readonly<Record<number, string>> = {
  400: SIGNATURE,
  401: SIGNATURE,
  403: SIGNATURE,
  404: PATH,
  405: PATH,
  410:
    '410 ends the delivery and switches the endpoint off. Switch it on again, then send the ' +
    'delivery again.',
  413: 'The endpoint does not accept the size of the body. Permit 256 KiB.',
  429: 'The endpoint requested a pause. Deliveries continue after it.',
  503: 'The endpoint requested a pause. Deliveries continue after it.',
}

/** By the word before the colon of an attempt's error. */
const BY_REASON: Readonly<Record<string, string>> = {
  timeout:
    'The endpoint did not respond in time. Respond with 200 at once, and process the event ' +
    'afterwards.',
  address:
    'The host of the URL leads to no public address. Correct the URL of the endpoint, or its DNS ' +
    'record.',
  refused: 'Nothing listens at this address and port. Start the receiver, or correct the URL.',
  unreachable: 'The network of the endpoint is not reachable. Verify its address and firewall.',
  reset: 'The endpoint closed the connection before it responded. Read its log at this time.',
  tls: 'The certificate of the endpoint is not valid for its host. Renew or correct it.',
  blocked: 'The address in the URL is not public. Correct the URL of the endpoint.',
  too_large: 'The response of the endpoint is too large. Respond with a short body, or none.',
  protocol: 'The response of the endpoint is not valid HTTP. Read its log at this time.',
}

export function adviceOf({ status, error }: DeliveryAttempt): string | undefined {
  if (error?.includes('signature_mismatch')) return OTHER_SECRET
  const [, words] = /; [a-z_]+: (.+)$/.exec(error ?? '') ?? []
  if (words !== undefined) return `The endpoint rejected the delivery: ${words}.`
  if (status === null) return BY_REASON[error?.split(':')[0] ?? '']
  if (status < 300) return undefined
  if (status < 400) {
    return 'Deliveries follow no redirect. Change the URL of the endpoint to its final address.'
  }
  if (status >= 500 && status !== 503) {
    return 'The endpoint failed. Its log at the time of the attempt has the cause.'
  }
  return BY_STATUS[status] ?? 'The endpoint rejected the delivery. The response has its reason.'
}
