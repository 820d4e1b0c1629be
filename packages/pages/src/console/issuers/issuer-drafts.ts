/** The content of the form of an issuer, and its conversion from and to members of the API. */
import { matchText, parseMatch } from './claim-lines.ts'
import type { Issuer } from './issuer-types.ts'

type IssuerRule = Issuer['rules'][number]

export interface RuleDraft {
  /** A claim a line: `repository=acme/shop`. */
  readonly match: string
  readonly customer: string
  readonly mode: IssuerRule['mode']
  readonly scopes: ReadonlySet<string>
  readonly person: IssuerRule['person']
  readonly typ: string
  readonly domains: string
}

export interface IssuerDraft {
  readonly issuer: string
  /** Where the keys are: in the metadata of the issuer, at a URL, or stored here. */
  readonly keys: 'metadata' | 'uri' | 'stored'
  readonly jwksUri: string
  readonly jwks: string
  readonly reuse: boolean
  readonly owners: string
  readonly rules: readonly RuleDraft[]
}

export type NewRule = Pick<RuleDraft, 'customer' | 'mode'>

export const emptyRule = ({ customer, mode }: NewRule): RuleDraft => ({
  match: '',
  customer,
  mode,
  scopes: new Set(),
  person: null,
  typ: '',
  domains: '',
})

interface Preset {
  readonly label: string
  readonly issuer: string
  readonly match: string
  readonly keys?: IssuerDraft['keys']
  readonly reuse?: boolean
  readonly person?: IssuerRule['person']
}

/** The issuers that the guide describes. */
export const presets: readonly Preset[] = [
  { label: 'Another issuer', issuer: '', match: '' },
  {
    label: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    match: 'repository=\nref=refs/heads/main',
  },
  { label: 'GitLab CI', issuer: 'https://gitlab.com', match: 'project_id=\nref_protected=true' },
  {
    label: 'Kubernetes service accounts',
    issuer: 'https://kubernetes.default.svc.cluster.local',
    match: 'sub=system:serviceaccount:',
    keys: 'stored',
    reuse: true,
  },
  { label: 'Identity provider of a company', issuer: '', match: 'tid=', person: 'sub' },
]

export const draftOfPreset = (label: string, rule: NewRule): IssuerDraft => {
  const {
    issuer,
    match,
    keys = 'metadata',
    reuse = false,
    person = null,
  } = presets.find((preset) => preset.label === label) ?? presets[0]!
  const rules = [{ ...emptyRule(rule), match, person }]
  return { issuer, keys, jwksUri: '', jwks: '', reuse, owners: '', rules }
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

export const draftOfIssuer = (row: Issuer): IssuerDraft => ({
  issuer: row.issuer,
  keys: row.jwks ? 'stored' : row.jwks_uri === null ? 'metadata' : 'uri',
  jwksUri: row.jwks_uri ?? '',
  jwks: row.jwks ? JSON.stringify(row.jwks, null, 2) : '',
  reuse: row.reuse !== null,
  owners: row.owners.join(' '),
  rules: row.rules.map(({ match, scopes, typ, domains, ...rule }) => ({
    ...rule,
    match: matchText(match),
    scopes: new Set(scopes),
    typ: typ ?? '',
    domains: domains.join(' '),
  })),
})

/** Returns the members of a request. Throws `SyntaxError` for stored keys that are no JSON. */
export const bodyOfDraft = ({ keys, jwks, jwksUri, reuse, owners, rules }: IssuerDraft) => ({
  ...(keys === 'stored' && { jwks: JSON.parse(jwks) as unknown }),
  ...(keys === 'uri' && { jwks_uri: jwksUri }),
  ...(keys === 'metadata' && { jwks: null, jwks_uri: null }),
  reuse: reuse ? 'until_expiry' : null,
  owners: wordsOf(owners),
  rules: rules.map(({ match, scopes, typ, domains, ...rule }) => ({
    ...rule,
    match: parseMatch(match),
    scopes: [...scopes],
    typ: (rule.person === null && typ.trim()) || null,
    domains: rule.person === 'email' ? wordsOf(domains) : [],
  })),
})
