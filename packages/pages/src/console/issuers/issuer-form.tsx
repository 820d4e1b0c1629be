/** The sheet that trusts an issuer, or changes the keys and rules of one. */
import type { Words } from '../../forms/field-words.ts'
import type { OperationDialogProps } from '../../forms/form-dialog.tsx'
import { keepQuery } from '../../router.ts'
import { DEFAULT_CUSTOMER } from '../customer-names.ts'
import type { CreationProps } from '../list-screen.tsx'
import { formOf, NewRow } from '../operation-forms.tsx'
import { mode, customer as scopeCustomer } from '../scope.ts'
import type { Issuer } from './issuer-types.ts'

export const pathOfIssuer = (id: string): string => `/admin/issuers/${encodeURIComponent(id)}`

interface Preset {
  readonly issuer: string
  readonly match: object
  readonly keys?: 'stored'
  readonly reuse?: 'until_expiry'
  readonly person?: 'sub'
}

/** The issuers that the guide describes. */
const presets: Readonly<Record<string, Preset>> = {
  'Another issuer': { issuer: '', match: {} },
  'GitHub Actions': {
    issuer: 'https://token.actions.githubusercontent.com',
    match: { repository: '', ref: 'refs/heads/main' },
  },
  'GitLab CI': {
    issuer: 'https://gitlab.com',
    match: { project_id: '', ref_protected: 'true' },
  },
  'Kubernetes service accounts': {
    issuer: 'https://kubernetes.default.svc.cluster.local',
    match: { sub: 'system:serviceaccount:' },
    keys: 'stored',
    reuse: 'until_expiry',
  },
  'Identity provider of a company': { issuer: '', match: { tid: '' }, person: 'sub' },
}

const newRule = () => ({ customer: scopeCustomer.value ?? DEFAULT_CUSTOMER, mode: mode.value })

function valuesOf(preset: string) {
  const { match, person, ...values } = presets[preset]!
  return { keys: 'metadata', reuse: null, ...values, rules: [{ ...newRule(), match, person }] }
}

const choice = (name: string, values: readonly string[]) =>
  ({ name, json: 'string', required: true, nullable: false, values }) as const

const ruleWords: Words = {
  match: {
    label: 'Claims',
    kind: 'claims',
    rows: 3,
    hint: 'One per line. Lines of one claim are alternatives. The first matching rule decides.',
    placeholder: 'repository=acme/shop',
  },
  customer: { label: 'Acts for' },
  mode: { input: undefined, hint: null, choices: { live: 'Live', test: 'Test' } },
  person: {
    label: 'Caller',
    hint: null,
    options: () => [
      ['', 'a workload'],
      ['sub', 'a person, by a stored identity'],
      ['email', 'a person, by a verified address'],
    ],
  },
  domains: { hint: 'Empty: every domain.', fits: ({ person }) => person === 'email' },
  typ: {
    label: 'typ of its tokens',
    hint: 'Empty: none, or JWT.',
    fits: ({ person }) => person === '',
  },
}

const words: Words = {
  preset: { label: 'Kind', sets: (preset) => valuesOf(preset as string) },
  issuer: {
    type: 'url',
    hint: 'The claim iss of its tokens, character by character.',
    placeholder: 'https://idp.example.com',
  },
  keys: {
    label: 'Its keys',
    choices: { metadata: 'where its metadata says', uri: 'at a URL', stored: 'stored here' },
  },
  jwks_uri: {
    label: 'URL of the keys',
    type: 'url',
    hint: null,
    required: true,
    fits: ({ keys }) => keys === 'uri',
  },
  jwks: {
    label: 'Public keys (JWK set)',
    hint: null,
    placeholder: '{"keys": […]}',
    required: true,
    mistake: 'These keys are no JSON.',
    fits: ({ keys }) => keys === 'stored',
  },
  reuse: {
    kind: 'flag',
    label: 'An assertion counts until it expires, instead of once',
    hint: null,
  },
  owners: {
    label: 'Further claims of the owner',
    hint: 'Claims that only the owner of a caller can have, beside sub, repository and others.',
  },
  rules: { items: { noun: 'rule', words: ruleWords, values: newRule } },
}

const KEYS = choice('keys', ['metadata', 'uri', 'stored'])

const shared = {
  isSheet: true,
  isInline: true,
  words,
  complete: (body, { keys }) =>
    keys === 'metadata' ? { ...body, jwks: null, jwks_uri: null } : body,
} satisfies Partial<OperationDialogProps<unknown>>

export const TrustIssuer = (props: CreationProps) => (
  <NewRow<Issuer>
    {...props}
    {...shared}
    operation="create_issuer"
    path="/admin/issuers"
    title="Trust an issuer"
    verb="Trust the issuer"
    extra={[choice('preset', Object.keys(presets)), KEYS]}
    values={{ preset: 'Another issuer', ...valuesOf('Another issuer') }}
    hrefOf={({ id }) => keepQuery(`/console/issuers/${id}`)}
  />
)

export const ChangeIssuer = formOf<Issuer>((row) => ({
  ...shared,
  operation: 'update_issuer',
  path: pathOfIssuer(row.id),
  row: { ...row, keys: row.jwks ? 'stored' : row.jwks_uri === null ? 'metadata' : 'uri' },
  title: `Keys and rules of ${row.issuer}`,
  extra: [KEYS],
  said: `${row.issuer} is changed.`,
}))
