/** The page of all failures, with an anchor for each code. Pure. */

import type { FailureDefinition } from '../../declare/resources/listed-failures.ts'
import { callerAdvice } from '../../kernel/caller-advice.ts'
import { failures } from '../../kernel/failure.ts'
import { code, type Page, pretty, table, text } from './content.ts'

/** The name of the page to which the member `documentation` of a failure leads. */
export const ERRORS_PAGE = 'errors'

export function errorsPage(own: readonly FailureDefinition[]): Page {
  const engineRows = Object.entries(failures).map(([name, [status, message]]) => ({
    id: name,
    cells: [
      `\`${status}\``,
      `[\`${name}\`](#${name})`,
      message,
      callerAdvice[name as keyof typeof failures],
    ],
  }))
  const ownRows = own.map(({ code: name, status, message, details }) => ({
    id: name,
    cells: [`\`${status}\``, `[\`${name}\`](#${name})`, message, detailWords(details)],
  }))
  const rows = [...ownRows, ...engineRows]
  const example = {
    error: 'validation_failed',
    message: 'amount: must be at least 1',
    status: 422,
    request_id: 'req_6yCqcYD5VBL7k5BZ',
    errors: [{ pointer: '/amount', code: 'too_small', message: 'must be at least 1' }],
  }
  return {
    name: ERRORS_PAGE,
    title: 'Errors',
    group: 'Basics',
    summary: 'The form of an error, and every code with its remedy.',
    blocks: [
      text('Every failure has one code and one status. Programs decide by `error`.'),
      text(
        'The sentence in `message` is for people and may change. Quote `request_id` to support.',
      ),
      text('`documentation` leads to the row of the code on this page.'),
      table(
        'Members of an error',
        ['Member', 'Meaning'],
        [
          ['`error`', 'The code.'],
          ['`message`', 'A sentence for people.'],
          ['`status`', 'The HTTP status.'],
          ['`request_id`', 'The id of the request, also in `X-Request-Id`.'],
          ['`documentation`', 'The address of the code on this page.'],
          ['`details`', 'Facts about the failure, of the codes that list them.'],
          ['`errors`', 'The mistakes: a `pointer` into the body, or a query `parameter`.'],
        ],
      ),
      text('With `Accept: application/problem+json` the error has the form of RFC 9457.'),
    ],
    aside: [code('422 Response', pretty(example))],
    sections: [
      {
        id: 'codes',
        title: 'Every code',
        blocks: [
          {
            kind: 'table',
            label: 'Every code',
            head: ['Status', 'Code', 'Message', 'Remedy'],
            rows,
          },
        ],
        aside: [],
      },
    ],
  }
}

/** Names the members of `details`, by which a program decides. */
function detailWords(details: FailureDefinition['details']): string {
  const names = Object.keys(details?.members ?? {})
  if (names.length === 0) return 'Decide by the code.'
  return `Read ${names.map((name) => `\`${name}\``).join(', ')} in \`details\`.`
}
