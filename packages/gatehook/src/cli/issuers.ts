/** `gatehook issuers …`: trusted issuers of assertions (§16.8). */
import type { IssuerJson } from '../identity/oauth/issuer-administration.ts'
import { trustedIssuer } from '../identity/oauth/issuer-members.ts'
import { administration, declaredScopes } from './api.ts'
import { requireScopes, words } from './arguments.ts'
import type { CommandFamily, CommandSpec, Input } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { keySetOf } from './key-set-file.ts'
import { alarm, bold, dim, green } from './output.ts'

interface Explanation {
  readonly valid: boolean
  readonly checks: readonly { name: string; passed: boolean; message: string | null }[]
  readonly principal: { kind: string; id: string; scopes: readonly string[] } | null
}

const pathOf = (id: unknown) => `/admin/issuers/${encodeURIComponent(String(id))}`

const ruleText = ({ match, customer, mode, scopes, person }: IssuerJson['rules'][number]) =>
  `${JSON.stringify(match)} → ${person ? `person by ${person}` : 'workload'} of ${customer} ` +
  `(${mode}): ${scopes.join(' ') || 'no scopes'}`

const ruleOptions: NonNullable<CommandSpec['options']> = [
  ['--match <CLAIMS...>', 'claims of the caller: repository=acme/shop ref=refs/heads/main'],
  ['--scope <SCOPES...>', 'the scopes of its tokens, separated by commas or spaces'],
  ['--person <HOW>', 'identity assertions of agents: email, or sub that is stored for a person'],
  ['--domain <DOMAINS...>', 'with --person email: the domains of addresses'],
  ['--typ <TYP>', 'the typ of its assertions (default: none or JWT)'],
  ['--customer <CUSTOMER>', 'whom the caller acts for, by id or name (default: default)'],
  ['--mode <MODE>', 'live (default) or test'],
]

/** Reads `name=value` pairs; a repeated name is a list of values. */
function matchOf(value: unknown): Record<string, string | string[]> {
  const pairs = [value ?? []].flat().map((each) => {
    const pair = String(each)
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`"${pair}" is no claim; write name=value.`)
    return { name: pair.slice(0, at), text: pair.slice(at + 1) }
  })
  if (pairs.length === 0) throw new UsageError('Name a claim of the caller: --match repository=…')
  return Object.fromEntries(
    [...Map.groupBy(pairs, ({ name }) => name)].map(([name, [first, ...others]]) => [
      name,
      others.length === 0 ? first!.text : [first!, ...others].map(({ text }) => text),
    ]),
  )
}

const ruleOf = (
  { scope, domain, person, typ, customer, mode }: Input['options'],
  match: Readonly<Record<string, unknown>>,
) => ({
  match,
  typ,
  customer: customer ?? 'default',
  mode: mode ?? 'live',
  scopes: words(scope),
  person,
  domains: domain === undefined ? undefined : words(domain),
})

const describe = (verb: string) => (issuer: IssuerJson) =>
  [`${verb} ${bold(issuer.id)} (${issuer.issuer}).`, ...issuer.rules.map(ruleText)].join('\n')

const createExample = 'gatehook issuers create https://token.actions.githubusercontent.com'

export const issuers: CommandFamily = {
  name: 'issuers',
  summary: 'trusted issuers of assertions: list, create, add-rule, explain, delete',
  commands: [
    administration.list({
      name: 'list',
      summary: 'all trusted issuers with their rules',
      examples: [['gatehook issuers list', 'which pipelines and identity providers get tokens']],
      rows: (api) => api.list('/admin/issuers?sort=id'),
      empty: `No trusted issuers. Add one: ${createExample} --match repository=… --scope …`,
      columns: trustedIssuer,
      cells: { rules: ({ rules }: IssuerJson) => rules.map(ruleText).join('; ') || dim('none') },
    }),
    administration.action({
      name: 'create <ISSUER>',
      summary: 'trusts an issuer, with a first rule',
      options: [
        ...ruleOptions,
        ['--owner <CLAIMS...>', 'further claims that only the owner of a caller can have'],
        ['--jwks <FILE>', 'its public keys, if this server cannot reach it'],
        ['--jwks-uri <URL>', 'the URL of its keys (default: where its metadata says)'],
        ['--reuse', 'an assertion counts until it expires, and needs no jti'],
      ],
      examples: [
        [`${createExample} --match repository=acme/shop --scope events:read`, 'GitHub Actions'],
      ],
      parse: ({ options: { match, jwks } }) => ({ match: matchOf(match), jwks: keySetOf(jwks) }),
      act(
        api,
        { args: [issuer], options: { jwksUri, reuse, owner, ...options } },
        { jwks, match },
      ) {
        const rule = ruleOf(options, match)
        requireScopes(rule.scopes, declaredScopes(api), 'rule', '--scope')
        return api.request<IssuerJson>('POST', '/admin/issuers', {
          issuer,
          jwks,
          jwks_uri: jwksUri,
          owners: owner === undefined ? undefined : words(owner),
          reuse: reuse === true ? 'until_expiry' : undefined,
          rules: [rule],
        })
      },
      describe: describe('Trusts'),
    }),
    administration.action({
      name: 'add-rule <ID>',
      summary: 'adds a rule after the others; the first that matches decides',
      options: ruleOptions,
      examples: [
        [
          'gatehook issuers add-rule iss_… --match sub=repo:acme/till:* --scope events:read',
          'more',
        ],
      ],
      parse: ({ options: { match } }) => matchOf(match),
      async act(api, { args: [id], options }, match) {
        const rule = ruleOf(options, match)
        requireScopes(rule.scopes, declaredScopes(api), 'rule', '--scope')
        const { rules } = await api.request<IssuerJson>('GET', pathOf(id))
        return api.request<IssuerJson>('PATCH', pathOf(id), { rules: [...rules, rule] })
      },
      describe: describe('Changed'),
    }),
    administration.action({
      name: 'explain <ID> <ASSERTION>',
      summary: 'each check of an assertion, without using it; exit code 1 if it is refused',
      examples: [['gatehook issuers explain iss_… "$TOKEN"', 'why a pipeline is refused']],
      act: (api, { args: [id, assertion] }) =>
        api.request<Explanation>('POST', `${pathOf(id)}/explain`, { assertion }),
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
    administration.action({
      name: 'delete <ID>',
      summary: 'deletes an issuer and ends its tokens',
      examples: [['gatehook issuers delete iss_…', 'rejected on every node within 2 seconds']],
      async act(api, { args: [id = ''] }) {
        await api.request('DELETE', pathOf(id))
        return { id, deleted: true }
      },
      describe: ({ id }) => `Deleted ${bold(id)}. Every node rejects its tokens within 2 seconds.`,
    }),
  ],
}
