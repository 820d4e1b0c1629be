/** The descriptions of operations: declared, or by their id; with the scope that they need. */
import { endSentence } from '../../kernel/closest.ts'
import type { JsonSchema } from '../fields/json-schema.ts'

const sentences: Readonly<Record<string, string>> = {
  probe_credential: 'Returns the caller, for every valid credential.',
  list_events: 'Returns the recorded events that the caller may read, newest last.',
  post_event: 'Records an event, which the service then sends to its registrations.',
  stream_events: 'Streams new events as server-sent events. `Last-Event-ID` resumes.',
  get_event: 'Returns an event in the shape of the version of the caller.',
  list_webhooks: 'Returns the registrations of the customer, without secrets.',
  create_webhook:
    'Registers a URL, which gets a signed ping first. The secret is in this response only.',
  get_webhook: 'Returns a registration and the progress of its replay.',
  update_webhook: 'Changes a registration. `active: true` verifies the receiver and resumes.',
  delete_webhook: 'Deletes a registration. Its waiting deliveries end as failed.',
  test_webhook: 'Makes one attempt at once with a sample of an event type, and returns its result.',
  rotate_webhook_secret: 'Generates a new secret. Both secrets sign until the overlap ends.',
  list_deliveries: 'Returns the deliveries of a registration with their attempts, without bodies.',
  recover_webhook: 'Sends the failed and exhausted deliveries since an instant once more.',
  replay_webhook: 'Sends all events since an instant once more, of some types or all.',
  stop_webhook_replay: 'Stops the replay or recovery that is running.',
  get_delivery: 'Returns a delivery with every attempt and the bodies of the responses.',
  get_delivery_request:
    'Returns the URL, the body and the signed headers of each attempt, to debug a receiver.',
  resend_delivery:
    'Sends a delivery once more, at once, even while its endpoint has an open circuit breaker. ' +
    'A success closes the breaker.',
  login: 'Exchanges name and password of a person for a pair of tokens.',
  change_own_password: 'Changes the password of the caller. Other sessions end.',
}

/** Returns the description of an operation, which ends in its scope. */
export function describeOperation(operation: JsonSchema): string {
  const { operationId, summary, description } = operation
  const scope = operation['x-scope']
  const own = description ?? sentences[String(operationId)] ?? endSentence(String(summary ?? ''))
  const words = String(own)
  return typeof scope === 'string' && !words.includes(`\`${scope}\``)
    ? `${words} Needs the scope \`${scope}\`.`
    : words
}
