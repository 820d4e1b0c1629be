/**
 * The formats of errors by kind of path. While the database is away, those of the administration
 * say why, as `/readyz` of the node does: operators can read nothing else of it then.
 */

import { renderFailurePage } from '../identity/oauth/pages.ts'
import { Failure } from '../kernel/failure.ts'
import { SchemaError } from '../platform/storage/database.ts'
import { isPrimarySentence, primaryFaults } from '../platform/storage/primary-fault.ts'
import { describeStorageFailure } from '../platform/storage/storage-failure.ts'
import type { ErrorFormats } from '../protocol/http/exchange.ts'
import { formatMcpError, formatOauthError, formatProblem } from '../protocol/http/problem.ts'
import type { Foundation } from './foundation.ts'

export const createErrorFormats = ({
  primaryFault,
}: Pick<Foundation, 'primaryFault'>): ErrorFormats => ({
  admin: (failure, context) => formatProblem(withFault(failure, primaryFault()), context),
  oauth: formatOauthError,
  page: renderFailurePage,
  mcp: formatMcpError,
})

function withFault(failure: Failure, fault: ReturnType<Foundation['primaryFault']>): Failure {
  if (failure.code !== 'storage_unavailable') return failure
  const sentence = fault ? primaryFaults[fault] : sentenceOf(failure)
  if (sentence === undefined) return failure
  return new Failure(failure.code, `${failure.message} ${sentence}`, failure.options)
}

const LACKS_PART =
  'The database lacks a table, a column, an index or a right that this node uses: its log names it.'

/** Strangers read it: it has no names. */
function sentenceOf(failure: Failure): string | undefined {
  if (failure.detail instanceof SchemaError) return LACKS_PART
  const sentence = describeStorageFailure(failure)
  return sentence !== undefined && isPrimarySentence(sentence) ? sentence : undefined
}
