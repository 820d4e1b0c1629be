/** The pages on behaviour that every service shares: credentials, lists, repeats, limits. Pure. */

import { signInResource } from '../../declare/resources/directory.ts'
import { NOTICE_MONTHS } from '../../declare/versions/calendar.ts'
import { accountScopes } from '../../identity/access/scopes.ts'
import type { FailureCode } from '../../kernel/failure.ts'
import { defaultLimits } from '../../protocol/http/exchange.ts'
import { RETENTION_MS } from '../../protocol/idempotency/perform.ts'
import { EXAMINED_ROWS_MAX } from '../../protocol/lists/bounds.ts'
import { operatorRows } from '../../protocol/lists/filter.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../protocol/lists/grammar.ts'
import { code, list, type Page, pretty, softText, table, text } from './content.ts'
import type { PageContext } from './page-source.ts'

const GROUP = 'Basics'
const RETENTION_HOURS = RETENTION_MS / 3_600_000

/** Returns a link to a failure on the page of all failures. */
const failureLink = (name: FailureCode): string => `[\`${name}\`](errors#${name})`

export function authenticationPage(context: PageContext): Page {
  const { base, version, service } = context
  const { reader } = context
  const isPerCustomer = signInResource(service.resources)?.signsIn?.names === 'customer'
  const scopes = [...new Set(reader.operations.flatMap(({ scope }) => scope ?? []))].sort()
  const rows = scopes.map((scope) => {
    const sentence = accountScopes[scope]?.(service.name)
    const operations = reader.operations.filter((operation) => operation.scope === scope)
    return [`\`${scope}\``, sentence ?? operations.map(({ summary }) => summary).join(', ')]
  })
  return {
    name: 'authentication',
    title: 'Authentication',
    group: GROUP,
    summary: 'Keys, tokens, scopes, test and live mode.',
    blocks: [
      text('A request carries one credential. Two credentials are 400 `ambiguous_credentials`.'),
      table(
        'Credentials',
        ['Credential', 'Header', 'For'],
        [
          ['API key', '`X-API-Key: gk_…`', 'Servers that act for a customer.'],
          ['Access token', '`Authorization: Bearer …`', 'Persons, and applications of others.'],
          [
            'Name and password',
            `\`Authorization: Basic …\`${isPerCustomer ? ', `Gatehook-Customer: cus_…`' : ''}`,
            'Internal networks only.',
          ],
        ],
      ),
      text('Every credential belongs to one customer and one mode, live or test.'),
      text('Data of the other mode does not exist for it. A row out of reach is 404.'),
    ],
    aside: [
      code('With a key', `curl ${base}/api/${version}/protected \\\n  -H "X-API-Key: $KEY"`),
      code(
        'With a token',
        `curl ${base}/api/${version}/protected \\\n  -H "Authorization: Bearer $TOKEN"`,
      ),
    ],
    sections: [
      {
        id: 'tokens',
        title: 'Tokens',
        blocks: [
          text('A person logs in at `POST /auth/login`. An application uses OAuth 2.0 with PKCE.'),
          ...(isPerCustomer
            ? [text('A sign-in name belongs to one customer and mode, which the request names.')]
            : []),
          text('An access token is valid for a short time. A refresh token returns the next pair.'),
          text('Use each refresh token once: a second use revokes the session.'),
          text('[Tokens](tokens) has the endpoints with examples.'),
          text('[The metadata](/.well-known/oauth-authorization-server) lists the endpoints.'),
        ],
        aside: [
          code(
            'Log in',
            `curl ${base}/auth/login \\\n  -H 'Content-Type: application/json' \\\n` +
              `  -d '{"username":"…","password":"…"${isPerCustomer ? ',"customer":"cus_…"' : ''}}'`,
          ),
        ],
      },
      {
        id: 'scopes',
        title: 'Scopes',
        blocks: [
          text('A scope allows operations. A missing scope is 403 `insufficient_scope`.'),
          table('Scopes', ['Scope', 'Allows'], rows),
        ],
        aside: [],
      },
    ],
  }
}

export const listsPage = (): Page => ({
  name: 'lists',
  title: 'Lists',
  group: GROUP,
  summary: 'Pages, filters and sorts, the same on every list.',
  blocks: [
    text(`A page has ${DEFAULT_LIMIT} rows, or \`limit\`: 1 to ${MAX_LIMIT}.`),
    text('A value out of range is 400. The server never clamps it.'),
    table(
      'Styles',
      ['Style', 'Parameters', 'Use'],
      [
        ['cursor', '`cursor`, `limit`', 'The default. Exact while rows come and go.'],
        ['keyset', '`after_id`, `limit`', 'By id, ascending. Resumes after a stored id.'],
        ['offset/limit', '`offset`, `limit`', 'Random access, with a total.'],
        ['page', '`page`, `per_page`', 'Numbered pages, with totals.'],
        ['hypermedia', '`pagination=hypermedia`', 'Pages with links in the body.'],
      ],
    ),
    softText('Parameters of two styles in one request are 400 `pagination_conflict`.'),
  ],
  aside: [
    code(
      'A page in the cursor style',
      pretty({
        data: ['…'],
        cursors: { next: 'jEmdqdfoP7pUYWsk', prev: null },
        next_cursor: 'jEmdqdfoP7pUYWsk',
        has_more: true,
      }),
    ),
  ],
  sections: [
    {
      id: 'next-page',
      title: 'The next page',
      blocks: [
        text('Send `next_cursor` as `cursor`, with the same sort and filters.'),
        text('The header `Link` has the addresses of the first, previous, next and last page.'),
      ],
      aside: [],
    },
    {
      id: 'filters',
      title: 'Filters',
      blocks: [
        text('`field=value` selects rows. Only the fields that an operation lists can filter.'),
        table(
          'Operators',
          ['Parameter', 'Selects'],
          operatorRows.map(([name, { selects }]) => [
            name === 'eq' ? '`field=`' : `\`field[${name}]=\``,
            selects,
          ]),
        ),
        text('Instants are ISO 8601. A `+` in a URL is a space: write `Z`, or `%2B01:00`.'),
        text(`A request examines at most ${EXAMINED_ROWS_MAX.toLocaleString('en-US')} rows.`),
      ],
      aside: [],
    },
    {
      id: 'sorts',
      title: 'Sorts and fields',
      blocks: [
        text('`sort=-created_at,id` sorts by columns; a minus means descending.'),
        text('`fields=a,b` returns these members only.'),
      ],
      aside: [],
    },
  ],
})

export const repeatsPage = ({ base, version }: PageContext): Page => ({
  name: 'repeats',
  title: 'Repeats',
  group: GROUP,
  summary: 'Retries without a second effect, and changes without lost updates.',
  blocks: [text('A lost response says nothing about the effect. Two headers make a retry safe.')],
  aside: [],
  sections: [
    {
      id: 'idempotency-key',
      title: 'Idempotency-Key',
      blocks: [
        text('Send a new random key with each POST and PATCH: 1 to 255 visible ASCII characters.'),
        text(`A repeat of key and body gets the stored response, for ${RETENTION_HOURS} hours.`),
        text('It carries `Idempotent-Replayed: true` and has no second effect.'),
        list(
          `The same key with another body: 422 ${failureLink('idempotency_key_reused')}.`,
          `While the first request runs: 409 ${failureLink('idempotency_in_progress')}.`,
        ),
        text('Responses with status 412 and 5xx are not stored.'),
      ],
      aside: [
        code(
          'A safe repeat',
          `ID=$(openssl rand -hex 16)  # once for each change, also for its repeats\n` +
            `curl -X POST ${base}/api/${version}/… \\\n  -H "X-API-Key: $KEY" \\\n` +
            `  -H "Idempotency-Key: $ID" \\\n` +
            `  -H 'Content-Type: application/json' \\\n  -d '…'`,
        ),
      ],
    },
    {
      id: 'etag',
      title: 'ETag and If-Match',
      blocks: [
        text('A row carries an `ETag`. Send it as `If-Match` with a change.'),
        text('The server rejects the change with 412 if the row differs in the meantime.'),
        text('With `If-None-Match`, a read of an unchanged row is 304 without a body.'),
      ],
      aside: [],
    },
  ],
})

export const versionsPage = ({ versions, base, version }: PageContext): Page => ({
  name: 'versions',
  title: 'Versions',
  group: GROUP,
  summary: 'How a request names its version, and how a version ends.',
  blocks: [
    text(`The versions are ${versions.map((name) => `\`${name}\``).join(', ')}.`),
    text('Additions appear in every version. A breaking change has a version of its own.'),
    text('Ignore members that you do not use: they can appear at any time.'),
  ],
  aside: [
    code(
      'The version in the path',
      `curl ${base}/api/${version}/protected \\\n  -H "X-API-Key: $KEY"`,
    ),
  ],
  sections: [
    {
      id: 'select',
      title: 'Select a version',
      blocks: [
        text('Name the version in the path. Without one, the server reads, in this order:'),
        list(
          'the query parameters `version`, `v` and `api-version`,',
          'the headers `X-API-Version` and `API-Version`, and a media type in `Accept`,',
          'the version to which the credential is pinned,',
          'the oldest version that is not retired.',
        ),
        text(`Two different names are 400 ${failureLink('version_conflict')}.`),
        text('The response names the served version in `X-API-Version`.'),
      ],
      aside: [],
    },
    {
      id: 'end',
      title: 'The end of a version',
      blocks: [
        text(`A version ends at least ${NOTICE_MONTHS} months after the announcement.`),
        list(
          'From its deprecation on, responses carry `Deprecation`, `Sunset` and `Link`.',
          'Bodies carry `_warnings`, and your webhooks get `api_version.deprecated`.',
          `In an announced brownout, requests are 410 ${failureLink('api_version_brownout')}.`,
          `From its sunset on, requests are 410 ${failureLink('api_version_retired')}.`,
        ),
        text('The [changelog](changelog) lists the changes of each version.'),
      ],
      aside: [],
    },
  ],
})

const KIB = 1024
const sizes = (): (readonly [subject: string, bound: string, name: FailureCode])[] => [
  ['Body of a request', `${defaultLimits.bodyBytes / KIB} KiB`, 'payload_too_large'],
  ['URL', `${defaultLimits.urlBytes / KIB} KiB`, 'uri_too_long'],
  ['Headers together', `${defaultLimits.headerBytes / KIB} KiB`, 'headers_too_large'],
  ['Arrival of a request', `${defaultLimits.requestTimeoutMs / 1000} s`, 'request_timeout'],
  ['Rows on a page', String(MAX_LIMIT), 'invalid_parameter'],
]

export const limitsPage = (): Page => ({
  name: 'limits',
  title: 'Limits',
  group: GROUP,
  summary: 'Requests in a time, and sizes.',
  blocks: [
    text('Each credential has a number of requests in a time. Read it in the headers.'),
    table(
      'Headers',
      ['Header', 'Meaning'],
      [
        ['`RateLimit-Policy`', 'The limit `q` and its window `w` in seconds.'],
        ['`RateLimit`', 'The remaining requests `r`, and the seconds `t` until the next one.'],
        ['`Retry-After`', 'With 429: the seconds to wait.'],
      ],
    ),
    text('A request that is 429 changed nothing. Wait, then repeat it.'),
  ],
  aside: [
    code(
      'Headers of a response',
      'RateLimit-Policy: "default";q=1000;w=60\nRateLimit: "default";r=999;t=42',
    ),
  ],
  sections: [
    {
      id: 'sizes',
      title: 'Sizes',
      blocks: [
        table(
          'Sizes',
          ['Subject', 'At most', 'Else'],
          sizes().map(([subject, bound, name]) => [subject, bound, failureLink(name)]),
        ),
      ],
      aside: [],
    },
  ],
})
