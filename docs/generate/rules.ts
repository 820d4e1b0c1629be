/**
 * The rules of the interface by number, a line each, and what stands of them. Data; the page is
 * `rules-page.ts`.
 */

/** `part`: what is missing. */
export type State = 'built' | 'not built' | { readonly part: string }

export interface Rule {
  /** `7.6`, or `13` where a chapter is one rule. */
  readonly number: string
  readonly sentence: string
  readonly state: State
}

const part = (missing: string): State => ({ part: missing })
const LATER: State = 'not built'

type Line = readonly [number: string, sentence: string, state?: State]

const written: readonly (readonly [title: string, lines: readonly Line[]])[] = [
  [
    '1. Words',
    [['1.1', 'Customers, and the two modes of one, never see each other: a foreign row is a 404.']],
  ],
  [
    '2. Running',
    [
      ['2.1', 'Two commands run the reference service on SQLite; Node comes with the install.'],
      [
        '2.2',
        'The first start migrates and seeds; on a terminal it shows a key and a curl that works.',
        part('console link'),
      ],
      [
        '2.3',
        'Plain HTTP on loopback only; else own TLS or a named proxy; HSTS; a foreign Host is 421.',
      ],
      [
        '2.4',
        'SIGTERM: unready, then a drain of 10 s; a second ends at once; `start DIR` serves DIR.',
      ],
      ['2.5', '`--role api,delivery` splits nodes.'],
      [
        '2.6',
        'One table of options, all mistakes reported together, exit 78; the master secret rotates.',
      ],
      ['2.7', '`/readyz` is about writes, `/readyz?for=read` about reads; both tell why not.'],
    ],
  ],
  [
    '3. Credentials',
    [
      [
        '3.1',
        'One credential a request; a bad one is never taken as none; 401 carries its challenge.',
      ],
      [
        '3.2',
        'Keys carry a checksum, rest as SHA-256, are shown once; expiry, address ranges, rolling.',
      ],
      ['3.3', '`?api_key=` works, warns, is kept by no cache and named in no log.'],
      ['3.4', 'Basic with e-mail and password, from chosen addresses only.'],
      ['3.5', 'Bearer tokens are judged by our key, never by what they claim of themselves.'],
      [
        '3.6',
        'A missing scope is a 403 that names it; account scopes of persons and apps are granted.',
      ],
      ['3.7', '`/api/{v}/protected` says who the caller is.'],
      ['3.8', 'Failed passwords are throttled; known clients and correct logins are not.'],
      ['3.9', 'Passwords rest as argon2id, two hashes at a time; common ones are refused.'],
      ['3.10', 'Keys are managed by CLI and HTTP alike; changes reach every node within 2 s.'],
    ],
  ],
  [
    '4. Tokens',
    [
      ['4.1', 'Access tokens are signed JWTs of 15 minutes.'],
      ['4.2', 'Refresh tokens rotate; reuse ends the family.'],
      ['4.3', '`POST /auth/login`.'],
      ['4.4', '`POST /auth/refresh`.'],
      ['4.5', 'Logout, sessions, consents.'],
      ['4.6', 'Signing keys are published, rotate, and rest sealed.'],
      ['4.7', 'Revocation reaches every node within 2 s without a look-up a request.'],
      ['4.8', 'Sign-in names are unique in the installation.'],
    ],
  ],
  [
    '5. OAuth 2.0',
    [
      ['5.1', 'Authorization code with PKCE for everyone; exact redirects.'],
      ['5.2', 'Login and consent pages that work without JavaScript.'],
      ['5.3', 'The token endpoint and its three grants.'],
      ['5.4', 'Revocation, introspection, metadata.'],
      ['5.5', 'Clients, and two live secrets while they rotate.'],
    ],
  ],
  [
    '6. Resources',
    [
      [
        '6.1',
        'A resource is declared once; table, validation, OpenAPI, lists and events follow.',
        part('console pages and SDK types'),
      ],
      [
        '6.2',
        'List, read, create, merge-patch, delete where declared, actions; 201 carries `Location`.',
      ],
      ['6.3', '`users`: unique e-mails, events of all three kinds; its rows can sign in.'],
      ['6.4', '`orders`: a state machine by actions; a wrong state is 409; owners are checked.'],
      ['6.5', 'A row and its events commit together; instants are ISO 8601 with milliseconds.'],
      ['6.6', 'Only additions are applied at start; anything else is refused in words.'],
      ['6.7', 'A person reaches its own rows only, unless granted `<collection>:all`.'],
      ['6.8', 'Endpoints by `.route(…)`, events in the transaction, ids never return, byte order.'],
      [
        '6.9',
        'Only `admin` renames or deletes a person that holds an account scope; it is audited.',
      ],
      ['6.10', "`access: {read: 'public'}` serves anonymous callers."],
    ],
  ],
  [
    '7. Lists',
    [
      [
        '7.1',
        'Every list path has every style, chosen by its parameters; mixed families are refused.',
      ],
      ['7.2', 'The envelopes of the styles.'],
      ['7.3', 'Numbers are read strictly, never clamped.'],
      ['7.4', 'Past the end is an empty 200; too deep is a 400 that points to cursors.'],
      ['7.5', 'Cursors are signed, canonical, and good for one list only.'],
      ['7.6', 'Backward paging is exact; a walk sees every lasting row once; NULLs are largest.'],
      ['7.7', 'Sorts, filters and fields over declared columns; anything unknown is a 400.'],
      [
        '7.8',
        '`Link`, totals and page headers; links never carry a credential; HEAD has the same.',
      ],
      ['7.9', 'A page costs the same at any depth, an unfiltered total at any size.'],
      ['7.10', 'A list examines a bounded number of rows, or says which sort or filter would.'],
    ],
  ],
  [
    '8. Versions',
    [
      ['8.1', 'Whole majors in the path; what is none is a 400, an unknown one a 404.'],
      ['8.2', 'A version by query, header or media type.'],
      ['8.3', 'All that names a version must agree.'],
      ['8.4', 'Without one: the pin, else the oldest not retired; the answer names it.'],
      ['8.5', 'A calendar per version, with notice.'],
      ['8.6', 'Deprecation is told on every response.'],
      ['8.7', 'After sunset: 410.'],
      [
        '8.8',
        'A breaking change is declared once; requests go up, answers, lists and events come down.',
      ],
      ['8.9', 'The ledger: who calls which version.'],
      ['8.10', 'Events to those who still call an old version.'],
      ['8.11', 'The gate: breaking changes fail the tests.'],
    ],
  ],
  [
    '9. Webhooks',
    [
      ['9.1', 'Registration, verified by a ping.'],
      ['9.2', 'Reading and changing registrations.'],
      ['9.3', 'A test delivery, now.'],
      ['9.4', 'Rotating the secret.'],
      ['9.5', 'Three signature schemes on every POST.'],
      ['9.6', 'Retries over three days.'],
      ['9.7', 'Endpoint health.'],
      ['9.8', 'Fairness between customers.'],
      ['9.9', 'Targets are judged where they are dialled.'],
      ['9.10', 'The delivery log.'],
      [
        '9.11',
        'Events: lists, the stream, `POST /events`; in the pinned version, at most 256 KiB each.',
      ],
      ['9.12', 'At least once, or it stands in the log.'],
      ['9.13', 'The receiver kit.'],
      ['9.14', 'Registrations and readers of events get the types that their scopes cover.'],
    ],
  ],
  [
    '10. Errors',
    [
      ['10.1', 'One envelope; RFC 9457 for those who ask.'],
      ['10.2', 'Every code stands in one table.'],
      ['10.3', '`X-Request-Id` on every response.'],
      ['10.4', 'Hostile bytes are 4xx, never 500.'],
      ['10.5', 'OPTIONS everywhere; CORS by configuration.'],
      ['10.6', '`nosniff` everywhere; authenticated responses are private, secrets not stored.'],
      ['10.7', 'A state-changing request of another site with Basic or a cookie is 403.'],
    ],
  ],
  [
    '11. Repeats, conditions, limits',
    [
      ['11.1', '`Idempotency-Key`: the same answer again, never the effect.'],
      ['11.2', '`ETag`, 304 and 412.'],
      ['11.3', 'Request limits per credential, customer and address, before any other work.'],
      ['11.4', 'Bounds on body, URL, headers and time; parsers take a linear number of steps.'],
      [
        '11.5',
        'Bounds on a response, and on what waits to be read; unread responses are cut.',
        part('pages that end early; event streams per customer'),
      ],
    ],
  ],
  [
    '12. For people',
    [
      ['12.1', 'OpenAPI, probes, metrics, `/`.', part('`/docs`')],
      ['12.2', 'Console and portal.', part('the pages; operators and their sessions stand')],
      [
        '12.3',
        'The command line; `--json` everywhere; exit codes.',
        part('`backup`, `restore`, `move`, `conform`'),
      ],
      ['12.4', 'The typed client.'],
      ['12.5', '`gatehook conform`.', LATER],
      ['12.6', 'The test clock.'],
      ['12.7', 'JSON logs, redacted; an audit trail.', part('OpenTelemetry')],
    ],
  ],
  [
    '13. Administration',
    [
      [
        '13',
        'Administration over HTTP with `admin`; keys narrowed with `keys:write`; an audit chain.',
      ],
    ],
  ],
]

export interface Chapter {
  readonly title: string
  readonly rules: readonly Rule[]
}

export const chapters: readonly Chapter[] = written.map(([title, lines]) => ({
  title,
  rules: lines.map(([number, sentence, state = 'built']) => ({ number, sentence, state })),
}))

export const rules: readonly Rule[] = chapters.flatMap((chapter) => chapter.rules)
