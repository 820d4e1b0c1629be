/**
 * The formats of errors by kind of path. While the database is away, those of the administration
 * say why, as `/readyz` of the node does: operators can read nothing else of it then.
 */

import { renderFailurePage } from '../identity/oauth/pages.ts'
import { Failure } from '../kernel/failure.ts'
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
  const sentence = fault ? primaryFaults[fault] : describeStorageFailure(failure)
  if (sentence === undefined || !isPrimarySentence(sentence)) return failure
  return new Failure(failure.code, `${failure.message} ${sentence}`, failure.options)
}
