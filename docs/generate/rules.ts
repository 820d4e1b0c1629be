/**
 * The rules of the interface by number, with a summary and the state of each. `rules-page.ts`
 * generates the page.
 */

/** `part`: the missing part. */
export type State = 'built' | { readonly part: string }

export interface Rule {
  /** `7.6`, or `13` where a chapter is one rule. */
  readonly number: string
  readonly sentence: string
  readonly state: State
}

const part = (missing: string): State => ({ part: missing })

type Line = readonly [number: string, sentence: string, state?: State]

const written: readonly (readonly [title: string, lines: readonly Line[]])[] = [
  ['1. Terms', [['1.1', 'Customers and modes are isolated: a row of another one is a 404.']]],
  [
    '2. Running',
    [
      ['2.1', 'Two commands run the reference service on SQLite; `npm install` brings Node.'],
      [
        '2.2',
        'The first start migrates and seeds; on a terminal it prints links, a key and a command.',
      ],
      [
        '2.3',
        'Plain HTTP on loopback only; else TLS or a named proxy; HSTS; an unknown Host is 421.',
      ],
      ['2.4', 'SIGTERM: unready, then a drain of 10 s; a second signal ends at once; `start DIR`.'],
      ['2.5', '`--role api,delivery` splits nodes.'],
      [
        '2.6',
        'One table of options; mistakes are reported together, exit 78; the master secret rotates.',
      ],
      ['2.7', '`/readyz` is about writes, `/readyz?for=read` about reads; both list reasons.'],
      ['2.8', 'After `move` the source refuses writes; `move` and `restore` refuse a used target.'],
    ],
  ],
  [
    '3. Credentials',
    [
      [
        '3.1',
        'One credential per request; an invalid one is never anonymous; 401 has a challenge.',
      ],
      [
        '3.2',
        'Keys have a checksum, are stored as SHA-256 and returned once; expiry, addresses, roll.',
      ],
      [
        '3.3',
        '`?api_key=` works with a warning; no cache stores the response, no log has the value.',
      ],
      ['3.4', 'Basic with e-mail and password, from configured addresses only.'],
      [
        '3.5',
        'Bearer tokens are verified with the key of the server; their own headers decide nothing.',
      ],
      [
        '3.6',
        'A missing scope is a 403 that names it; persons and apps get account scopes by grant.',
      ],
      ['3.7', '`/api/{v}/protected` returns the caller.'],
      ['3.8', 'Failed passwords are throttled; recognized clients and correct logins are not.'],
      ['3.9', 'Passwords are stored as argon2id, two hashes at a time; common ones are refused.'],
      ['3.10', 'CLI and HTTP manage keys alike; changes reach every node within 2 s.'],
    ],
  ],
  [
    '4. Tokens',
    [
      ['4.1', 'Access tokens are signed JWTs of 15 minutes.'],
      ['4.2', 'Refresh tokens rotate; reuse revokes the family.'],
      ['4.3', '`POST /auth/login`.'],
      ['4.4', '`POST /auth/refresh`.'],
      ['4.5', 'Logout, sessions, consents.'],
      ['4.6', 'Signing keys are published, rotate, and are stored encrypted.'],
      ['4.7', 'Revocation reaches every node within 2 s without a look-up per request.'],
      ['4.8', 'Sign-in names: unique in the installation, or per customer and mode; one folding.'],
      ['4.9', 'A declared sign-up creates an account once its e-mail address is confirmed.'],
      ['4.10', 'A password is reset by mail; the response never tells whether an account exists.'],
    ],
  ],
  [
    '5. OAuth 2.0',
    [
      ['5.1', 'Authorization code with PKCE for every client; exact redirect URIs.'],
      ['5.2', 'Login and consent pages that work without JavaScript.'],
      ['5.3', 'The token endpoint and its three grants.'],
      ['5.4', 'Revocation, introspection, metadata.'],
      ['5.5', 'Clients; two valid secrets during a rotation.'],
    ],
  ],
  [
    '6. Resources',
    [
      [
        '6.1',
        'A resource is declared once; table, validation, OpenAPI, lists, events and pages follow.',
      ],
      [
        '6.2',
        'List, read, create, merge-patch, delete where declared, actions; 201 carries `Location`.',
      ],
      ['6.3', '`users`: unique e-mail addresses, three kinds of events; its rows can sign in.'],
      ['6.4', '`orders`: a state machine by actions; a wrong state is 409; owners are checked.'],
      ['6.5', 'A row and its events commit together; instants are ISO 8601 with milliseconds.'],
      [
        '6.6',
        'The start applies additions only; it refuses other changes with a sentence for each.',
      ],
      ['6.7', 'A person reaches its own rows, or all rows with `<collection>:all`.'],
      [
        '6.8',
        'Endpoints by `.route(…)`, events in the transaction, ids are never reused, byte order.',
      ],
      [
        '6.9',
        'Only its person and `admin` change a sign-in name; a person with an account scope is ' +
          'deleted by `admin`; both are audited.',
      ],
      ['6.10', "`access: {read: 'public'}` serves anonymous callers."],
      [
        '6.11',
        'Days, times, durations, decimals, UUIDs are exact; lists sort and filter them by value.',
      ],
      [
        '6.12',
        'Objects, arrays, metadata and JSON are validated to any depth; a patch merges objects.',
      ],
      ['6.13', 'A client sets a `.writeOnce()` field when it creates the row, and never again.'],
      ['6.14', 'Jobs, event handlers and recurring jobs of own code run at least once.'],
      ['6.16', "`f.id('bk')` gives rows ids as text with a prefix, which sort by time."],
      [
        '6.20',
        '`POST …/batch` creates up to 100 rows in one transaction: all, or each on its own.',
      ],
      ['6.21', '`Prefer: dry-run` runs a write and rolls it back; the response has its events.'],
      ['6.22', 'With `softDelete` a deleted row is hidden, can be restored, and is purged later.'],
      [
        '6.30',
        'Single fields need a scope to be read or written, on every path and in every version.',
      ],
      ['6.31', 'Own code computes `f.computed(…)` fields; a stored one is a column, and sorts.'],
      ['6.32', 'The database derives `f.derived(…)` fields from their row; a listed one sorts.'],
    ],
  ],
  [
    '7. Lists',
    [
      ['7.1', 'Every list path has every style, selected by parameters; mixed styles are refused.'],
      ['7.2', 'The envelopes of the styles.'],
      ['7.3', 'Numbers are parsed strictly, never clamped.'],
      ['7.4', 'A page past the end is an empty 200; one too deep is a 400 that names cursors.'],
      ['7.5', 'Cursors are signed, canonical, and valid for one list only.'],
      [
        '7.6',
        'Backward paging is exact; a walk returns every lasting row once; NULLs are largest.',
      ],
      ['7.7', 'Sorts, filters and fields over declared columns; anything unknown is a 400.'],
      ['7.8', '`Link`, totals and page headers; links contain no credential; HEAD has the same.'],
      ['7.9', 'A page costs the same at any depth, an unfiltered total at any size.'],
      ['7.10', 'A list examines a bounded number of rows, or is a 400 that names an alternative.'],
      ['7.11', '`expand` includes the rows to which rows refer, as far as the caller reads them.'],
      ['7.12', '`q` finds rows of a declared search by the beginning of words, within the bounds.'],
      [
        '7.20',
        'A list is exported whole as NDJSON or CSV, in constant memory, and can be resumed.',
      ],
    ],
  ],
  [
    '8. Versions',
    [
      ['8.1', 'Whole majors in the path; another text is a 400, an unknown major a 404.'],
      ['8.2', 'A version by query, header or media type.'],
      ['8.3', 'Every name of a version in a request must agree.'],
      ['8.4', 'Without one: the pin, else the oldest not retired; the response names it.'],
      ['8.5', 'A calendar for each version, with notice.'],
      ['8.6', 'Every response of a deprecated version announces its end.'],
      ['8.7', 'After sunset: 410.'],
      [
        '8.8',
        'A breaking change is declared once; requests, responses, lists and events are converted.',
      ],
      ['8.9', 'Usage: which customers, keys and clients call which version.'],
      ['8.10', 'Events to customers that still call an old version.'],
      ['8.11', 'The gate: undeclared breaking changes fail the tests.'],
    ],
  ],
  [
    '9. Webhooks',
    [
      ['9.1', 'Registration, verified by a ping.'],
      ['9.2', 'Reading and changing registrations.'],
      ['9.3', 'A test delivery, at once.'],
      ['9.4', 'Rotating the secret.'],
      ['9.5', 'Three signature schemes on every POST.'],
      ['9.6', 'Retries over three days.'],
      ['9.7', 'Endpoint health.'],
      ['9.8', 'Fairness between customers.'],
      ['9.9', 'Targets are verified when they are dialled.'],
      ['9.10', 'The delivery log.'],
      [
        '9.11',
        'Events: lists, the stream, `POST /events`; in the pinned version, at most 256 KiB each.',
      ],
      ['9.12', 'An event is delivered at least once, or its delivery is in the log.'],
      ['9.13', 'The receiver kit.'],
      ['9.14', 'Registrations and readers of events receive the types that their scopes cover.'],
    ],
  ],
  [
    '10. Errors',
    [
      ['10.1', 'One envelope; RFC 9457 on request.'],
      ['10.2', 'One table lists every code.'],
      ['10.3', '`X-Request-Id` on every response.'],
      ['10.4', 'Hostile input is 4xx, never 500.'],
      ['10.5', 'OPTIONS everywhere; CORS by configuration.'],
      ['10.6', '`nosniff` everywhere; authenticated responses are private, secrets not stored.'],
      ['10.7', 'A state-changing request from another site with Basic or a cookie is 403.'],
    ],
  ],
  [
    '11. Idempotency, conditional requests, limits',
    [
      ['11.1', '`Idempotency-Key`: a repeated request gets the stored response and has no effect.'],
      ['11.2', '`ETag`, 304 and 412.'],
      ['11.3', 'Request limits per credential, customer and address, before the body is read.'],
      ['11.4', 'Bounds on body, URL, headers and time; parsers take a linear number of steps.'],
      [
        '11.5',
        'Bounds on a response, on a change and the work for both, on unread responses and on ' +
          'bodies that arrive or are parsed; callers have shares of them, rejections wait, and ' +
          'addresses take turns.',
      ],
    ],
  ],
  [
    '12. User interfaces and tools',
    [
      ['12.1', 'The reference `/docs`, OpenAPI, probes, metrics, `/`.'],
      ['12.2', 'Console and portal.'],
      [
        '12.3',
        'The command line; `--json` everywhere; exit codes.',
        part('`issuers`, `outbox`, `forward`'),
      ],
      ['12.4', 'The typed client.'],
      ['12.6', 'The test clock.'],
      ['12.7', 'JSON logs, redacted; traces by OpenTelemetry; an audit trail.'],
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
  [
    '15. Own code',
    [
      [
        '15.1',
        'Each context of own code has the time of the engine, its caller, `log` and `signal`; ' +
          'own code alone uses resources with `access: false`.',
      ],
      [
        '15.2',
        'Own code runs actions with their rules, and changes the state of a row in no other way.',
      ],
      ['15.3', 'Events of own code are values, rendered as those of the engine.', part('SQL')],
      [
        '15.4',
        'Own code finds, lists and reads by SQL the rows in reach of its context, and no others.',
      ],
      ['15.5', 'A failure of the team has its code, status and details.'],
      ['15.6', 'A step with a stored result never runs again, and the engine finishes a request.'],
      ['15.7', 'A conflict of own code runs it again; both databases give the same answers.'],
      [
        '15.8',
        'A run of `.every()` serves the due times that have passed, in a zone, for each customer.',
      ],
      [
        '15.9',
        'Lists filter and sort by fields of rows to which others refer; values refer to rows, too.',
      ],
      ['15.10', 'Routes receive and return media types; bodies up to 16 MiB, texts up to 1 MiB.'],
      ['15.11', 'The types of a client are those of the declaration, in every version.'],
      ['15.12', 'Mistakes of own code, at start and later, have a sentence and no further effect.'],
    ],
  ],
  [
    '16. Agents, partners and companies',
    [
      ['16.1', 'Challenges name the metadata of their resource and the scopes of the request.'],
      ['16.2', '`resource` selects the audience of a grant, which later requests keep or narrow.'],
      [
        '16.3',
        'Loopback redirects match with any port; redirects on a device need consent each time.',
      ],
      [
        '16.4',
        'A client id that is a URL names the document of its client, which a person trusts.',
      ],
      ['16.5', 'Clients register themselves with a key or openly, where the operator allows it.'],
      [
        '16.6',
        'A device without a browser gets tokens after a person has consented, warned, elsewhere.',
      ],
      [
        '16.7',
        'A client authenticates by keys of its own; each assertion counts once on all nodes.',
      ],
      ['16.8', 'Assertions of trusted issuers become tokens of workloads and persons, by rules.'],
      [
        '16.9',
        'Operators sign in with OpenID Connect; without a group, their sessions end in 15 minutes.',
      ],
      ['16.10', 'Clients sign persons in with OpenID Connect; the operator can switch it off.'],
      ['16.11', 'Agents use four tools at `/mcp`, which send requests of their caller.'],
      ['16.12', 'Persons and operators sign in by passkeys; a reset of the password deletes them.'],
    ],
  ],
  [
    '17. Beside what a team already has',
    [
      [
        '17.1',
        'PostgreSQL: all tables are in one schema; nothing outside it is changed or locked.',
      ],
      [
        '17.2',
        'Transactions of the team emit events by SQL; customers have ids of the team, by which ' +
          'requests name them as well.',
      ],
      [
        '17.3',
        'Applications verify keys and tokens, and count their requests, also through a plain ' +
          'listener for a private network.',
      ],
      ['17.4', 'An application mounts the engine in its own server, below a path.'],
      [
        '17.5',
        'An application in any language answers routes: headers, assertions, repeats, versions.',
      ],
    ],
  ],
  [
    '18. Operation',
    [
      ['18.1', 'No request waits beyond 5 s for a database, its locks or a pool: standby, or 503.'],
      ['18.2', 'No node writes on a former primary, or in a database other than its own.'],
      ['18.3', '`replica` is verified with each commit; without a standby writes are 503.'],
      [
        '18.4',
        'Six commands create a database; one process serves from a SQLite file, or takes it ' +
          'over. A damaged page and a full disk are 503 and not ready.',
      ],
      [
        '18.5',
        'Restored data is recognized: ids skip; deliveries, jobs and mail wait for an operator; ' +
          'an export of the audit trail, which says where it ends, revokes again.',
      ],
      ['18.6', '`move --undo` makes the target read-only, and refuses to lose its rows.'],
      ['18.7', 'Exit status 75: a later start may succeed; 78: the configuration must change.'],
      ['18.8', 'A migration takes no column from nodes that run; a node without one is not ready.'],
      ['18.9', 'Scopes for machines; the audit trail without gaps; probes in no rate of errors.'],
      ['18.10', 'Nodes have names; attention lists nodes that ended, failed to start, or differ.'],
      [
        '18.11',
        'A customer is exported without secrets, and deleted with every row; a person, with its ' +
          'personal fields in every copy. The chain of the audit trail stays valid. No page of ' +
          'rows has more than 2 MiB.',
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
