/**
 * Which version a call means (§8.1, §8.4). Two steps: what the call says is judged before anybody
 * is asked who they are; what it leaves open is settled once the credential, and its pin, are
 * known.
 */
import type { Call, Step } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'

const MAJOR = /^v[1-9][0-9]*$/

const serve = (call: Call, version: string): void => {
  call.version = version
  call.out['x-api-version'] = version
}

/** The version segment of the path: whole majors only. */
export function explicitVersion(versions: readonly string[]): Step {
  return (call) => {
    const segment = call.versionSegment
    if (segment === undefined) return
    if (versions.includes(segment)) return serve(call, segment)
    throw MAJOR.test(segment) ? unknownVersion(segment) : invalidVersion(segment)
  }
}

const unknownVersion = (segment: string) =>
  new Failure('unknown_version', `There is no version ${segment}.`)

const invalidVersion = (segment: string) =>
  new Failure(
    'invalid_version',
    `"${segment.slice(0, 40)}" is not a version. Versions are whole majors, for example v1.`,
  )

/** Without a version in the call: the credential's pin, else the oldest. */
export function settledVersion(versions: readonly string[]): Step {
  return (call) => {
    if (call.version !== undefined) return
    const pin = call.principal?.version
    serve(call, pin !== undefined && versions.includes(pin) ? pin : versions[0]!)
  }
}
