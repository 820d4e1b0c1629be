/** Generates the table of bounds in `docs/reference/http.md` from the constants in the code. */
import { BODY_BYTES_MAX } from '../../packages/gatehook/src/declare/resources/media.ts'
import { EVENT_MAX_BYTES } from '../../packages/gatehook/src/history/events/event.ts'
import { CHANGE_BOUNDS } from '../../packages/gatehook/src/platform/storage/change-budget.ts'
import { defaultEgressBounds } from '../../packages/gatehook/src/protocol/http/egress.ts'
import { defaultLimits } from '../../packages/gatehook/src/protocol/http/exchange.ts'
import { LARGE_BODY_SHARES } from '../../packages/gatehook/src/protocol/http/ingress.ts'
import { JSON_NAMES_MAX, MAX_DEPTH } from '../../packages/gatehook/src/protocol/http/json-body.ts'
import { MEDIA_RANGES_MAX } from '../../packages/gatehook/src/protocol/http/media-type.ts'
import { PROOF_VALUES } from '../../packages/gatehook/src/protocol/http/receive-body.ts'
import {
  COUNTED_ROWS_MAX,
  EXAMINED_ROWS_MAX,
  MAX_SKIPPED_ROWS,
  OWN_ROWS_MAX,
} from '../../packages/gatehook/src/protocol/lists/bounds.ts'
import {
  DEFAULT_LIMIT,
  FILTERS_MAX,
  MAX_LIMIT,
  PART_FILTERS_MAX,
} from '../../packages/gatehook/src/protocol/lists/grammar.ts'

const KIB = 1024
const MIB = 1_048_576
const SECOND_MS = 1000
const count = (rows: number): string => rows.toLocaleString('en-US')

export function limitsTable(): string {
  const { bodyBytes, bodyValues, urlBytes, headerBytes, headerLines } = defaultLimits
  const { headersTimeoutMs, requestTimeoutMs, keepAliveMs } = defaultLimits
  const { responseBytes, shares, unreadMs } = defaultEgressBounds
  const rows = [
    [
      'request body',
      `${bodyBytes / KIB} KiB; with \`maxBodyBytes\` up to ${BODY_BYTES_MAX / MIB} MiB`,
      '413 `payload_too_large`',
    ],
    [
      'open bodies of more than 1024 KiB, of all callers',
      `${LARGE_BODY_SHARES.process / MIB} MiB; JSON counts three times`,
      '503 `overloaded`',
    ],
    [
      'values of a JSON body, parameters of a form',
      `${count(bodyValues)}; of an endpoint without a credential ${count(PROOF_VALUES)}`,
      '413 `payload_too_large`',
    ],
    [
      'names of members of a JSON body; repeated ones count in objects of more than 100',
      count(JSON_NAMES_MAX),
      '413 `payload_too_large`',
    ],
    ['nesting of a JSON body', `${MAX_DEPTH} levels`, '400 `invalid_json`'],
    ['URL', `${urlBytes / KIB} KiB`, '414 `uri_too_long`'],
    ['request line and headers together', `${headerBytes / KIB} KiB`, '431 `headers_too_large`'],
    ['header lines', String(headerLines), '431 `headers_too_large`'],
    ['media ranges in `Accept`', String(MEDIA_RANGES_MAX), '406 `not_acceptable`'],
    [
      'time until the headers have arrived',
      `${headersTimeoutMs / SECOND_MS} s`,
      '408 `request_timeout`',
    ],
    [
      'time until the request has arrived',
      `${requestTimeoutMs / SECOND_MS} s`,
      '408 `request_timeout`',
    ],
    ['an idle connection', `${keepAliveMs / SECOND_MS} s`, 'the server closes it'],
    [
      'one response',
      `${responseBytes / MIB} MiB`,
      'a list or the report of a dry run ends early, else 400 `page_too_large`; ' +
        'of a change 413 `change_too_large`',
    ],
    [
      'a response of which the caller reads nothing',
      `${unreadMs / SECOND_MS} s`,
      'the server cuts the connection',
    ],
    [
      'unread responses of programs, or of persons, of one mode of a customer (or of one address)',
      `${shares.group / MIB} MiB`,
      'the server cuts larger ones that are unread for a second, else 503 `overloaded`',
    ],
    [
      'several unread responses of one credential',
      `${shares.caller / MIB} MiB`,
      '503 `overloaded` for further reads, before any work where possible',
    ],
    [
      'unread responses of all callers',
      `${shares.process / MIB} MiB`,
      'the server cuts those unread for longest, else 503 `overloaded`',
    ],
    ['rows on a page', `1 to ${MAX_LIMIT}, default ${DEFAULT_LIMIT}`, '400 `invalid_parameter`'],
    [
      'rows between a numbered page and the nearer end',
      count(MAX_SKIPPED_ROWS),
      '400 `offset_too_large`',
    ],
    ['filters of a list request', count(FILTERS_MAX), '400 `invalid_parameter`'],
    [
      'of these, filters by a part of a text or by an entry (`metadata[key]`)',
      count(PART_FILTERS_MAX),
      '400 `invalid_parameter`',
    ],
    [
      'rows that a list request examines',
      count(EXAMINED_ROWS_MAX),
      '400 `query_too_expensive` with an alternative that an index serves',
    ],
    [
      'rows of a person that a list sorts',
      count(OWN_ROWS_MAX),
      '400 `query_too_expensive`; sort by id',
    ],
    [
      'rows that the total of a filtered list counts',
      count(COUNTED_ROWS_MAX),
      '400 `query_too_expensive`; use the cursor style',
    ],
    [
      'a page as JSON',
      '8 MiB',
      'cursor and keyset style: the page ends early; else 400 `page_too_large`',
    ],
    [
      'rows and events that one change writes, cascades included',
      count(CHANGE_BOUNDS.rows),
      '413 `change_too_large`; the change is rolled back',
    ],
    [
      'deliveries of these events, one for each webhook that receives an event',
      count(CHANGE_BOUNDS.deliveries),
      '413 `change_too_large`; the change is rolled back',
    ],
    [
      'words that one change adds to or removes from the search',
      count(CHANGE_BOUNDS.words),
      '413 `change_too_large`; the change is rolled back',
    ],
    [
      'bytes that one change writes, or reads to delete',
      `${CHANGE_BOUNDS.bytes / MIB} MiB`,
      '413 `change_too_large`; the change is rolled back',
    ],
    [
      'an event’s object',
      `${EVENT_MAX_BYTES / KIB} KiB`,
      '413 `payload_too_large`; the change is rolled back',
    ],
  ]
  return [
    '| subject | bound | beyond it |',
    '| --- | --- | --- |',
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')
}
