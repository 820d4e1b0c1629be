/** `gatehook requests …`: the request log of a running node or of the local database. */
import { loggedRequest } from '../operate/monitoring/operations.ts'
import { administration } from './api.ts'
import { countOf, countOption } from './arguments.ts'
import { statusText } from './columns.ts'
import type { CommandFamily } from './command.ts'
import type { JsonBody } from './http-client.ts'
import { alarm, bold, dim, green, yellow } from './output.ts'
import { filterQuery, requestFilters } from './request-line.ts'

const callerOf = ({ credential }: JsonBody): string => {
  if (credential === null) return dim('none')
  const { kind, name, hint, id } = credential
  return `${kind} ${name ?? hint ?? id}`
}

const revokerOf = ({ principal: { kind, id, name } }: JsonBody): string => `${kind} ${name ?? id}`

const paintOutcome: Readonly<Record<string, (text: string) => string>> = {
  passed: green,
  refused: alarm,
  not_reached: dim,
}

/** Each step of the pipeline in words. */
export const STEP_WORDS: Readonly<Record<string, string>> = {
  parse: 'valid head',
  requireHttps: 'HTTPS',
  requireServedHost: 'host',
  preflight: 'CORS preflight',
  refreshState: 'changes of other nodes',
  recognize: 'look-up of the credential',
  limit: 'request limit',
  crossSite: 'same site',
  requestedVersion: 'version of the path',
  acceptable: 'Accept',
  authenticate: 'credential',
  limitVerified: 'request limit of the person',
  shed: 'unread responses',
  defaultVersion: 'version',
  authorize: 'scope',
  rejectNoneMatch: 'If-None-Match',
  route: 'path and method',
  body: 'body',
  fields: 'fields',
  repeat: 'idempotency key',
  conditions: 'If-Match',
  handler: 'the operation itself',
}

/** Returns the gates, those passed and those never reached on one line each. */
function gateLines(gates: JsonBody[]): string[] {
  const stepsOf = (outcome: string) =>
    gates
      .filter((gate) => gate.outcome === outcome)
      .map(({ step }) => STEP_WORDS[step] ?? String(step))
  const line = (outcome: string, title: string) => {
    const steps = stepsOf(outcome)
    const text = `${title.padEnd(12)} ${steps.join(', ')}`
    return steps.length === 0 ? [] : [paintOutcome[outcome]!(text)]
  }
  return [
    ...line('passed', 'passed'),
    ...line('refused', 'rejected at'),
    ...line('not_reached', 'not reached'),
  ]
}

function describe(request: JsonBody): string {
  const { id, at, method, path, status, error, took_ms, ip, version, answer, help } = request
  const { key_revocation: revocation } = request
  const message = answer?.body?.message
  return [
    `${bold(`${method} ${path}`)}  ${statusText(status)}${error === null ? '' : ` ${error}`}`,
    `${id} · ${at} · ${took_ms} ms`,
    `${callerOf(request)} · ${ip}${version === null ? '' : ` · ${version}`}`,
    ...(message === undefined ? [] : [yellow(message)]),
    ...(revocation ? [`revoked ${revocation.at} by ${revokerOf(revocation)}`] : []),
    ...(help === null || help === undefined ? [] : [help.text]),
    '',
    ...gateLines(request.gates),
    ...(request.event_ids.length === 0 ? [] : ['', `events       ${request.event_ids.join(', ')}`]),
  ].join('\n')
}

export const requests: CommandFamily = {
  name: 'requests',
  summary: 'the request log: list, and why a request has its status',
  startsWithFirst: true,
  commands: [
    administration.list({
      name: 'list',
      summary: 'the newest requests, newest first',
      options: [...requestFilters, countOption],
      examples: [
        ['gatehook requests --status 4xx', 'the last rejected requests'],
        ['gatehook requests --error insufficient_scope --count 5', 'of one cause'],
      ],
      parse: countOf,
      rows: (api, input, count) => api.list(`/admin/requests?${filterQuery(input)}`, count),
      empty: 'No such requests.',
      columns: loggedRequest,
      cells: { path: ({ method, path }) => `${method} ${path}` },
    }),
    administration.action({
      name: 'show <ID>',
      summary: 'one request, and the step that rejected it',
      examples: [['gatehook requests show req_…', 'why it has its status']],
      act: (api, { args: [id] }) =>
        api.request('GET', `/admin/requests/${encodeURIComponent(String(id))}`),
      describe,
    }),
  ],
}
