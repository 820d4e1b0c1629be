/**
 * The sign-in form of the pages (§5.2, §16.6): signs a person in, or says why not in words for the
 * page. All other failures are those of the pipeline.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Call } from '../../protocol/http/call.ts'
import type { Devices } from '../people/devices.ts'
import type { SignInApi } from '../people/login.ts'
import type { SignInPlace } from '../people/namespace.ts'
import type { Person } from '../people/person.ts'
import { NAME_MAX_LENGTH } from '../people/sign-in-bounds.ts'
import type { SignInView } from './pages.ts'
import type { OauthParameters } from './parameters.ts'
import type { BrowserCookie, SignInSessions } from './sign-in-session.ts'

interface SignInFormDeps {
  readonly people: Pick<SignInApi, 'signIn'>
  readonly devices: Devices
  readonly signIns: SignInSessions
}

/** The part of the page that a failed attempt changes. */
export type FailedAttempt = Pick<SignInView, 'notice' | 'username' | 'status' | 'headers'>

interface SignInRules {
  readonly place: SignInPlace
  /** The path of the page, for the audit trail. */
  readonly page: string
  /** Returns why a person cannot use the client; undefined if it can. */
  readonly findMismatch: (person: Person) => string | undefined
}

/** Errors of a sign-in that the sign-in page displays; the pipeline handles all others. */
const SIGN_IN_NOTICES: Readonly<
  Record<string, { readonly status: number; readonly notice: string; readonly retry?: true }>
> = {
  // Not 401: that status requires a challenge, and browsers would open a password dialog.
  invalid_credentials: { status: 403, notice: 'E-mail or password is wrong.' },
  rate_limited: { status: 429, notice: 'Too many failed attempts.', retry: true },
  customer_suspended: { status: 403, notice: 'This account is suspended.' },
  customer_required: { status: 400, notice: 'Enter the id of your organization.' },
  overloaded: { status: 503, notice: 'Too many people sign in right now.', retry: true },
}

/** Returns the cookies of the new session, or the failed attempt. */
export async function signInByForm(
  { people, devices, signIns }: SignInFormDeps,
  { call, cookie }: { readonly call: Call; readonly cookie: BrowserCookie },
  fields: OauthParameters,
  { place, page, findMismatch }: SignInRules,
): Promise<FailedAttempt | { readonly cookies: readonly (string | undefined)[] }> {
  const [sentName, password] = [fields.get('username') ?? '', fields.get('password') ?? '']
  // A longer name is unknown; the page shows its beginning.
  const username = sentName.slice(0, NAME_MAX_LENGTH + 1)
  if (username === '' || password === '') {
    return { notice: 'Enter your e-mail and your password.', username, status: 400 }
  }
  const device = devices.pageClientOf(call)
  let person: Person
  try {
    person = await people.signIn({ username, ...place }, password, device)
  } catch (error) {
    const entry = error instanceof Failure ? SIGN_IN_NOTICES[error.code] : undefined
    if (!entry) throw error
    const { status, notice, retry } = entry
    const retryAfter = (error as Failure).headers?.['retry-after']
    return {
      status,
      username,
      notice: retry ? `${notice} Sign in again ${describeWait(retryAfter)}.` : notice,
      headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    }
  }
  const mismatch = findMismatch(person)
  if (mismatch !== undefined) return { notice: mismatch, username, status: 403 }
  const { customer, mode, subject } = person
  call.identified = { kind: 'person', subject, customer, mode }
  const session = await signIns.signIn(call, cookie, person, page)
  return { cookies: [session.line, device.cookie] }
}

/** Returns a `Retry-After` in seconds as words. */
function describeWait(seconds = '0'): string {
  const minutes = Math.ceil(Number(seconds) / 60)
  if (Number(seconds) <= 10) return 'in a moment'
  return minutes <= 1 ? 'in a minute' : `in ${minutes} minutes`
}
