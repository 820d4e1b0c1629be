/** The members of trusted issuers in requests and responses of the administration (§16.8). */
import { b } from '../../protocol/fields/members.ts'
import { ADMIN_SCOPE, type Administration } from '../access/administration.ts'
import { mode } from '../access/collections.ts'
import { scopeSet } from '../access/grant-validation.ts'
import { MAX_ASSERTION_CHARACTERS } from './assertion.ts'
import { EXAMPLE_KEY } from './client-members.ts'
import { COMMON_CLAIMS, OWNER_CLAIMS } from './issuer-rules.ts'
import { findIssuerUrlFault, findKeySetFault, usableKeys } from './key-set.ts'

const MAX_URL = 500
const MAX_RULES = 100
const MAX_OWNERS = 20
const MAX_DOMAINS = 100
const NAME_MAX = 200

const EXAMPLE_ISSUER = 'https://token.actions.githubusercontent.com'
const EXAMPLE_MATCH = { repository: 'acme/shop', ref: 'refs/heads/main' }

const person = b.oneOf(['email', 'sub'])
const reuse = b
  .oneOf(['until_expiry'])
  .nullable()
  .describe('`until_expiry`: an assertion counts many times, and needs no `jti`.')
  .example(null)

const ruleMembers = {
  match: b.anyObject().describe('Claims and their values.').example(EXAMPLE_MATCH),
  typ: b
    .text()
    .nullable()
    .describe('The `typ` of its assertions; null: none or `JWT`.')
    .example(null),
  customer: b.text().example('cus_01jdq8w9vgk7'),
  mode,
  scopes: b.list(b.text()).example(['webhooks:read']),
  person: person.nullable().describe('null: the caller is a workload.').example(null),
  domains: b.list(b.text()).describe('The domains of `email`; none: any.').example([]),
}

const issuerMembers = {
  id: b.text().example('iss_01jdq8w9vgk7'),
  issuer: b.text().describe('The `iss` of its assertions.').example(EXAMPLE_ISSUER),
  jwks: b.json().nullable().describe('Its public keys, if they are stored here.').example(null),
  jwks_uri: b.text().nullable().describe('The URL of its public keys.').example(null),
  reuse,
  owners: b
    .list(b.text())
    .describe('Further claims that only the owner of a caller can have.')
    .example([]),
  created_at: b.time(),
  rules: b.list(b.object(ruleMembers)),
}

/** An issuer as the administration returns it. */
export const trustedIssuer = b
  .object(issuerMembers)
  .named('Issuer')
  .columns({
    issuer: {},
    state: {
      title: 'keys',
      states: [
        ['jwks', { '*': ['idle', 'stored'] }],
        ['jwks_uri', { '*': ['idle'] }],
        ['id', { '*': ['idle', 'metadata'] }],
      ],
    },
    id: {},
    created_at: {},
    rules: {},
    reuse: { title: 'an assertion counts', none: 'once', isFact: true },
    owners: { title: 'further owners', none: 'none', isFact: true },
  })

const domain = b.matching(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,9}$/, 'a domain in lower case', {
  max: 253,
})

/** No rule grants the scope of operators. */
const scopesOfRules = ({ scopes }: Pick<Administration, 'scopes'>) =>
  new Set([...scopes].filter((scope) => scope !== ADMIN_SCOPE))

const rule = (admin: Pick<Administration, 'scopes'>) =>
  b.object({
    match: b
      .anyObject()
      .describe(
        'Claims with a text, a list of texts, or a text that ends in `/*` or `:*`; objects match ' +
          'nested claims. One of them is `sub` or a claim of the owner. The first rule that ' +
          'matches decides.',
      )
      .example(EXAMPLE_MATCH),
    typ: b
      .line(NAME_MAX)
      .nullable()
      .optional()
      .describe('The `typ` of its assertions. Default: none or `JWT`.')
      .example(null),
    customer: b.line(NAME_MAX).describe('The id of a customer, or `default`.').example('default'),
    mode,
    scopes: scopeSet({ scopes: scopesOfRules(admin) }).example(['webhooks:read']),
    person: person
      .nullable()
      .optional()
      .describe(
        'How an identity assertion of an agent names a person: a verified `email`, or the `sub` ' +
          'that an administrator stored. Default: the caller is a workload.',
      )
      .example(null),
    domains: b
      .set(domain, { max: MAX_DOMAINS })
      .optional()
      .describe('The domains of `email`; default: any.')
      .example([]),
  })

export const issuerPatch = (admin: Pick<Administration, 'scopes'>) => ({
  jwks: b
    .anyObject()
    .nullable()
    .optional()
    .refine((set, reject) => {
      const fault = set ? findKeySetFault(set) : undefined
      return fault === undefined ? set && usableKeys(set) : reject(fault)
    })
    .describe('Its public keys (RFC 7517), for an issuer that the server cannot reach.')
    .example({ keys: [EXAMPLE_KEY] }),
  jwks_uri: b
    .url(MAX_URL)
    .nullable()
    .optional()
    .refine((uri, reject) => {
      const fault = uri ? findIssuerUrlFault(uri) : undefined
      return fault === undefined ? uri : reject(fault)
    })
    .describe('The URL of its keys. Without it and `jwks`, its metadata leads to them.')
    .example('https://token.actions.githubusercontent.com/.well-known/jwks'),
  reuse: reuse.optional(),
  owners: b
    .set(
      b
        .line(NAME_MAX)
        .refine((name, reject) =>
          COMMON_CLAIMS.some((claim) => claim === name)
            ? reject('is a claim that every assertion can have')
            : name,
        ),
      { max: MAX_OWNERS },
    )
    .optional()
    .describe(
      `Further claims that only the owner of a caller can have, beside ${OWNER_CLAIMS.join(', ')}.`,
    )
    .example(['namespace_path']),
  rules: b.list(rule(admin), { max: MAX_RULES }).optional(),
})

export const issuerCreation = (admin: Pick<Administration, 'scopes'>) => ({
  ...issuerPatch(admin),
  issuer: b
    .url(MAX_URL)
    .refine((text, reject) => {
      const fault = text.includes('?') ? 'has a query' : findIssuerUrlFault(text)
      return fault === undefined ? text : reject(fault)
    })
    .describe('The `iss` of its assertions.')
    .example(EXAMPLE_ISSUER),
  rules: b.list(rule(admin), { max: MAX_RULES }),
})

export const explanationInput = {
  assertion: b
    .text({ min: 1, max: MAX_ASSERTION_CHARACTERS })
    .secret()
    .describe('A JWT of the issuer. It stays unused, and no log has it.')
    .example('eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl'),
}

export const explanation = b
  .object({
    valid: b.bool().describe('Whether all checks pass.').example(false),
    checks: b
      .list(
        b.object({
          name: b.text().example('exp'),
          passed: b.bool().describe('Whether the assertion passes it.').example(false),
          message: b.text().nullable().describe('Why it fails.').example('exp is in the past'),
        }),
      )
      .describe('The checks, in their order.'),
    principal: b
      .object({
        kind: b.oneOf(['workload', 'person']),
        id: b.text().describe('`issuer|sub` of a workload, or the id of a person.').example('42'),
        customer: b.text().example('cus_01jdq8w9vgk7'),
        mode,
        scopes: b.list(b.text()).example(['webhooks:read']),
      })
      .nullable()
      .describe('The caller that the assertion names, by the first rule that matches; null: none.'),
  })
  .named('AssertionExplanation')
