/** How operators of this installation sign in. */
import { useEffect, useState } from 'preact/hooks'
import { send } from '../api.ts'

export interface SignInMethods {
  readonly passwords: 'on' | 'break-glass' | 'off'
  readonly issuer: string | null
  /** The console at which passkeys work; null: the public URL has no host name. */
  readonly passkeys: string | null
}

/** Returns the ways to sign in; undefined until they are loaded. */
export function useSignInMethods(): SignInMethods | undefined {
  const [methods, setMethods] = useState<SignInMethods | undefined>(undefined)
  useEffect(() => {
    send<SignInMethods>('GET', '/console/sign-in', { isSignIn: true }).then(({ body }) =>
      setMethods(body),
    )
  }, [])
  return methods
}
