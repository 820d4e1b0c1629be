/** Starts the console. The token of a link leaves the address before anything else runs. */
import { render } from 'preact'
import { startKeyboard } from '../keyboard.ts'
import { mountLinks } from '../mount-path.ts'
import { startPrefetch } from '../outlet.tsx'
import { startRouter } from '../router.ts'
import { applyTheme } from '../theme.ts'
import { App } from './app.tsx'
import { pages } from './pages.ts'
import { startScope } from './scope.ts'
import { takeLinkToken } from './session.ts'

const token = takeLinkToken()
applyTheme()
startScope()
mountLinks()
startRouter('/console')
startKeyboard()
startPrefetch(pages)
render(<App token={token} />, document.getElementById('app')!)
