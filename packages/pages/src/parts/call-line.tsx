/** The API request behind a page. */
import { curlOf } from '../api.ts'
import { copyText } from './copy.tsx'

interface CallLineProps {
  readonly method?: string
  /** With its query. */
  readonly path: string
  readonly body?: unknown
}

export const CallLine = ({ method = 'GET', path, body }: CallLineProps) => (
  <div class="callline">
    <span class={`verb ${method.toLowerCase()}`}>{method}</span>
    <code>{path}</code>
    <button
      type="button"
      class="copy"
      data-curl
      onClick={() => copyText(curlOf(method, path, body))}
    >
      Copy as curl
    </button>
  </div>
)
