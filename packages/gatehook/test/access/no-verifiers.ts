/** Verifiers of an installation without tokens and without people: they reject everything. */
import type { CredentialVerifier } from '../../src/identity/access/authenticate.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { BASIC_CHALLENGE } from '../../src/protocol/http/authorization.ts'

export const noBearer: CredentialVerifier = () => {
  throw new Failure('invalid_token')
}

export const noBasic: CredentialVerifier = () => {
  throw new Failure('invalid_credentials', undefined, {
    headers: { 'WWW-Authenticate': BASIC_CHALLENGE },
  })
}
