/** The state of a form that sends one request. */
import { useState } from 'preact/hooks'
import { ApiFailure } from './api.ts'

interface Sending {
  readonly isBusy: boolean
  readonly failure: ApiFailure | undefined
  /** The server's message on a member of the body: `/name`. */
  readonly messageOf: (pointer: string) => string | undefined
  /** Runs the request; a failure of the API becomes `failure`. */
  readonly run: (request: () => Promise<void>) => Promise<void>
}

export function useSend(): Sending {
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure>()
  const run = async (request: () => Promise<void>) => {
    if (isBusy) return
    setBusy(true)
    setFailure(undefined)
    try {
      await request()
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      setFailure(error)
    }
    setBusy(false)
  }
  const messageOf = (pointer: string) =>
    failure?.problem.errors?.find((error) => `${error.pointer}/`.startsWith(`${pointer}/`))?.message
  return { isBusy, failure, messageOf, run }
}
