/**
 * Sends the example of every operation in the OpenAPI documents to a service: the response has the
 * documented status and schema. A new object is the target of each path with an id. An operation of
 * the engine that changes data leaves an audit row (§13), and verifies its caller when the turn of
 * its write comes (§3.10, §4.7), unless a table has the reason.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  bodyOf,
  callerOf,
  exampleValues,
  type Json,
  openTargets,
  type Targets,
  targetOf,
} from './targets.ts'

/** The examples of administration are valid as they are. */
const NO_VALUES = { access: '', values: [] }
const FORM = 'application/x-www-form-urlencoded'

/** Operations that no example alone can send. */
const NOT_SENT: Readonly<Record<string, string>> = {
  stream_events: 'the response does not end',
  stream_monitoring: 'the response does not end',
  stream_audit_entries: 'the response does not end',
  get_clock: 'it exists with the test clock only',
  set_clock: 'it exists with the test clock only',
  end_operator_session: 'an operator has to sign in first',
  open_console_session: 'an operator has to sign in first',
  get_console_session: 'an operator has to sign in first',
  close_console_session: 'an operator has to sign in first',
  create_own_operator: 'an operator has to sign in first',
  enrol_second_factor: 'an operator has to sign in first',
  confirm_second_factor: 'an operator has to sign in first',
  create_operator_passkey_options: 'an operator has to sign in first',
  create_operator_passkey: 'an operator has to sign in first',
  list_operator_passkeys: 'an operator has to sign in first',
  delete_operator_passkey: 'an operator has to sign in first',
  console_login_by_passkey: 'it needs an authenticator; §16.12 has a test',
  create_passkey: 'it needs an authenticator; §16.12 has a test',
  delete_own_passkey: 'it needs an authenticator; §16.12 has a test',
  login_by_passkey: 'it needs an authenticator; §16.12 has a test',
  authorize: 'it is a page for a browser',
  get_userinfo: 'it needs the scope openid; §16.10 has a test',
  post_userinfo: 'it needs the scope openid; §16.10 has a test',
}

/** Operations of the engine that change data and leave no audit row. */
const NOT_AUDITED: Readonly<Record<string, string>> = {
  send_mcp_message: 'the operations that its tools run have audit rows of their own',
  post_event: 'an event is data of the customer, and its own record',
  stop_webhook_replay: 'it is audited if a replay runs; in the example none does',
  sign_up: 'the person exists once it has verified its address, which is audited',
  resend_verification: 'it sends a mail; the verification is audited',
  request_password_reset: 'it sends a mail; the reset is audited',
  close_portal_session: 'a caller ends its own session, which its link opened with a row',
  issue_tokens: 'the session of a token, or the creation of its client, has the row',
  refresh_tokens: 'the session of the tokens has the row',
  authorize_device: 'the consent of the person has the row',
  introspect_token: 'it changes nothing',
  explain_assertion: 'it changes nothing',
  verify_credential: 'it changes nothing',
  create_passkey_options: 'it changes nothing',
  login_passkey_options: 'it changes nothing',
  console_login_passkey_options: 'it changes nothing',
  release_restore: 'it changes nothing where no data is restored',
  confirm_restore: 'it changes nothing where no data is restored',
}

/** Operations whose writes need no rights of a caller that were verified before. */
const NO_CALLER: Readonly<Record<string, string>> = {
  login: 'the transaction reads the person',
  reset_password: 'the transaction takes the token of the mail',
  confirm_username: 'the transaction takes the token of the mail',
  verify_email: 'the transaction takes the token of the mail',
  open_portal_session: 'the transaction takes the link',
  refresh_tokens: 'the transaction takes the refresh token',
  logout: 'a caller ends its own session',
  revoke_token: 'a client ends its own session',
  authorize_device: 'anybody may request a code',
  register_client: 'anybody may register a client',
}
/** Writes of the engine itself: jobs that a request has woken, attempts to sign in. */
const ELSE = /platform\/jobs\/runner|people\/throttle/

/** Whether the audit trail has a row of a request. */
const hasAuditRow = async ({ app }: Targets, requestId: string | undefined): Promise<boolean> =>
  (await app.app.db.all(sql`SELECT action FROM gh_audit WHERE request_id = ${requestId}`)).length >
  0

/** Returns a function that runs a request, and returns its writes without rights of a caller. */
function watchWrites({ app }: Targets) {
  const { db } = app.app
  const { write } = db
  const request = new AsyncLocalStorage<string[]>()
  db.write = (change, options) => {
    const writer = String(new Error().stack).split('\n').slice(2, 4).join()
    if (!options?.authority && !ELSE.test(writer)) request.getStore()?.push(writer)
    return write(change, options)
  }
  return async <T>(send: () => Promise<T>) => {
    const unverified: string[] = []
    return { reply: await request.run(unverified, send), unverified }
  }
}

function createValidator(document: Json): (schema: Json, value: unknown) => string | undefined {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  return (schema, value) => {
    const validate = ajv.compile({ ...schema, components: document.components })
    return validate(value) ? undefined : ajv.errorsText(validate.errors)
  }
}

/** Returns the query with the examples of the required parameters. */
function queryOf({ parameters = [] }: Json): string {
  const required = parameters.filter((each: Json) => each.in === 'query' && each.required)
  const examples = required.map(({ name, schema }: Json) => [name, schema.examples[0]])
  return examples.length === 0 ? '' : `?${new URLSearchParams(examples)}`
}

for (const name of ['v1', 'v2', 'platform', 'admin']) {
  test(`the example of every operation of ${name} is valid`, async (t) => {
    const targets = await openTargets(t)
    const watch = watchWrites(targets)
    const document = targets.app.app.openapi(name) as Json
    const findFault = createValidator(document)
    let sent = 0
    for (const [path, { parameters: _, ...item }] of Object.entries<Json>(document.paths)) {
      for (const [method, operation] of Object.entries<Json>(item)) {
        const { operationId, requestBody, responses, security = document.security } = operation
        if (NOT_SENT[operationId] !== undefined) continue
        const url = (await targetOf(targets, path, operationId)) + queryOf(operation)
        const values = /^\/(admin|console)/.test(path) ? NO_VALUES : await exampleValues(targets)
        const [type, media] = Object.entries<Json>(requestBody?.content ?? {})[0] ?? []
        const example = await bodyOf(targets, media && JSON.stringify(media.example), values)
        const isForm = type === FORM
        const body = isForm ? new URLSearchParams(example).toString() : example
        const caller = await callerOf(targets, path, values.access, security)
        const headers = isForm ? { 'content-type': FORM } : {}
        const send = () => caller.send(method.toUpperCase(), url, body, headers)
        const { reply, unverified } = await watch(send)
        const status = Object.keys(responses).find((key) => key.startsWith('2'))
        const at = `${method} ${url}: ${reply.text}`
        assert.equal(String(reply.status), status, at)
        const schema = responses[status!].content?.['application/json']?.schema
        if (schema) assert.equal(findFault(schema, reply.body), undefined, at)
        sent++
        if (method === 'get') continue
        const isVerified = unverified.length === 0 || NO_CALLER[operationId] !== undefined
        assert.ok(
          isVerified,
          `${operationId} uses rights that ended while it waited: ${unverified}`,
        )
        if (name.startsWith('v')) continue
        const isAudited = await hasAuditRow(targets, reply.headers['x-request-id'] as string)
        assert.equal(isAudited, NOT_AUDITED[operationId] === undefined, `audited: ${operationId}`)
      }
    }
    assert.ok(sent > 20, `${sent} operations`)
  })
}
