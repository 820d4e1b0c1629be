/** `gatehook issuers …`: trusted issuers of assertions (§16.8). */
import type { IssuerJson } from '../identity/oauth/issuer-administration.ts'
import { trustedIssuer } from '../identity/oauth/issuer-members.ts'
import { issuerOperations } from '../identity/oauth/issuer-operations.ts'
import { administration } from './api.ts'
import type { CommandFamily } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
import { alarm, bold, dim, green } from './output.ts'

interface Explanation {
  readonly valid: boolean
  readonly checks: readonly { name: string; passed: boolean; message: string | null }[]
  readonly principal: { kind: string; id: string; scopes: readonly string[] } | null
}

const { create, update, remove, explain } = issuerOperations(ANY_SERVICE)

const ruleText = ({ match, customer, mode, scopes, person }: IssuerJson['rules'][number]) =>
  `${JSON.stringify(match)} → ${person ? `person by ${person}` : 'workload'} of ${customer} ` +
  `(${mode}): ${scopes.join(' ') || 'no scopes'}`

/** Reads `name=value` pairs; a repeated name is a list of values. */
function matchOf(texts: readonly string[]): Record<string, string | string[]> {
  const pairs = texts.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`"${pair}" is no claim; write name=value.`)
    return { name: pair.slice(0, at), text: pair.slice(at + 1) }
  })
  return Object.fromEntries(
    [...Map.groupBy(pairs, ({ name }) => name)].map(([name, [first, ...others]]) => [
      name,
      others.length === 0 ? first!.text : [first!, ...others].map(({ text }) => text),
    ]),
  )
}

/** The options of a rule. */
const rules = {
  members: {
    match: {
      form: { value: 'CLAIMS', isList: true, read: matchOf },
      meaning: 'claims of the caller: repository=acme/shop ref=refs/heads/main',
    },
    customer: {
      meaning: 'whom the caller acts for, by id or name (default: default)',
      isOptional: true,
    },
    mode: { meaning: 'live (default) or test', isOptional: true },
  },
} as const

/** Returns the rule of a command line. */
const ruleOf = ({ rules: [rule] = [] }: { readonly rules?: readonly object[] }) => ({
  customer: 'default',
  mode: 'live',
  ...rule,
})

const describe = (verb: string) => (issuer: IssuerJson) =>
  [`${verb} ${bold(issuer.id)} (${issuer.issuer}).`, ...issuer.rules.map(ruleText)].join('\n')

const createExample = 'gatehook issuers create https://token.actions.githubusercontent.com'

export const issuers: CommandFamily = {
  name: 'issuers',
  summary: 'trusted issuers of assertions: list, create, add-rule, update, explain, delete',
  commands: [
    administration.list({
      name: 'list',
      summary: 'all trusted issuers with their rules',
      examples: [['gatehook issuers list', 'which pipelines and identity providers get tokens']],
      rows: (api) => api.list('/admin/issuers?sort=id'),
      empty: `No trusted issuers. Add one: ${createExample} --match repository=… --scopes …`,
      columns: trustedIssuer,
      cells: { rules: ({ rules }: IssuerJson) => rules.map(ruleText).join('; ') || dim('none') },
    }),
    operationCommand<IssuerJson>(administration, {
      name: 'create <ISSUER>',
      summary: 'trusts an issuer, with a first rule',
      operation: create,
      args: ['issuer'],
      words: { rules },
      examples: [
        [`${createExample} --match repository=acme/shop --scopes events:read`, 'GitHub Actions'],
      ],
      complete: (body) => ({ ...body, rules: [ruleOf(body)] }),
      describe: describe('Trusts'),
    }),
    operationCommand<IssuerJson>(administration, {
      name: 'add-rule <ID>',
      summary: 'adds a rule after the others; the first that matches decides',
      operation: { ...update, input: { rules: create.input!.rules } },
      words: { rules },
      examples: [
        [
          'gatehook issuers add-rule iss_… --match sub=repo:acme/till:* --scopes events:read',
          'more',
        ],
      ],
      async complete(body, api, { args: [id = ''] }) {
        const path = `/admin/issuers/${encodeURIComponent(id)}`
        const issuer = await api.request<IssuerJson>('GET', path)
        return { rules: [...issuer.rules, ruleOf(body)] }
      },
      describe: describe('Changed'),
    }),
    operationCommand<IssuerJson>(administration, {
      name: 'update <ID>',
      summary: 'changes the keys of an issuer',
      operation: update,
      words: { rules: false },
      examples: [['gatehook issuers update iss_… --jwks keys.json', 'after a rotation']],
      describe: describe('Changed'),
    }),
    operationCommand<Explanation>(administration, {
      name: 'explain <ID> <ASSERTION>',
      summary: 'each check of an assertion, without using it; exit code 1 if it is refused',
      operation: explain,
      args: ['assertion'],
      examples: [['gatehook issuers explain iss_… "$TOKEN"', 'why a pipeline is refused']],
      describe({ valid, checks, principal }) {
        const lines = checks.map(({ name, passed, message }) =>
          passed ? `${green('passed')}  ${name}` : `${alarm('failed')}  ${name}: ${message}`,
        )
        const scopes = principal?.scopes.join(' ') || 'no scopes'
        const caller = principal ? [`${principal.kind} ${principal.id}: ${scopes}`] : []
        return [...lines, ...caller, valid ? 'It is accepted.' : 'It is refused.'].join('\n')
      },
      exit: ({ valid }) => (valid ? EXIT.ok : EXIT.failed),
    }),
    operationCommand(administration, {
      name: 'delete <ID>',
      summary: 'deletes an issuer and ends its tokens',
      operation: remove,
      examples: [['gatehook issuers delete iss_…', 'rejected on every node within 2 seconds']],
      resultOf: (_, id) => ({ id, deleted: true }),
      describe: ({ id }) => `Deleted ${bold(id)}. Every node rejects its tokens within 2 seconds.`,
    }),
  ],
}
