/**
 * Sessions of the server's own pages: a cookie authenticates requests of these pages only. A page
 * of another origin, a form or a sibling subdomain cannot use it (cross-site request forgery).
 */
import { Failure } from '../../kernel/failure.ts'
import type { Call } from './call.ts'

interface OwnPages {
  /** Sent by the pages' script. Forms and other origins cannot send it without CORS. */
  readonly header: string
  /** The message of the 403. */
  readonly message: string
}

export interface OwnPageGuard {
  /** Throws 403 if the browser reports another origin; a client may report none. */
  rejectForeignOrigin(call: Call): void
  /** Throws 403 unless the pages' script sent the request, or the browser reports its own page. */
  requireOwnPage(call: Call): void
}

const isSafe = ({ method }: Call): boolean => method === 'GET' || method === 'HEAD'

export function createOwnPageGuard({ header, message }: OwnPages): OwnPageGuard {
  const foreignRequest = () => new Failure('forbidden', message)
  const rejectForeignOrigin = (call: Call): void => {
    const { origin, 'sec-fetch-site': site } = call.headers
    const ownOrigin = `${call.secure ? 'https' : 'http'}://${call.host}`.toLowerCase()
    if (origin !== undefined && origin.toLowerCase() !== ownOrigin) throw foreignRequest()
    if (site === undefined || site === 'same-origin') return
    if (site !== 'none' || !isSafe(call)) throw foreignRequest()
  }
  return {
    rejectForeignOrigin,
    requireOwnPage(call) {
      rejectForeignOrigin(call)
      const isReportedRead = isSafe(call) && call.headers['sec-fetch-site'] !== undefined
      if (call.headers[header] === undefined && !isReportedRead) throw foreignRequest()
    },
  }
}

/** Returns whether a request has a key, a token or a password, which overrides a cookie. */
export const hasCredential = ({ headers, query }: Call): boolean =>
  headers.authorization !== undefined || 'x-api-key' in headers || query.has('api_key')
