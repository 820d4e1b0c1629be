/**
 * The path under which an application mounts the pages (`mount` of `gatehook/server`). Every link
 * and request of these pages names the path without it; the browser gets it with it.
 */
import { options } from 'preact'

const mountPath = /^(.*?)\/(?:console|portal)(?:\/|$)/.exec(location.pathname)?.[1] ?? ''

/** Returns the URL for the browser. */
export const mountedUrl = (url: string): string =>
  url.startsWith('/') && !url.startsWith('//') ? mountPath + url : url

/** Returns the path of a URL of the browser, without the path of the mount. */
export const ownPath = (pathname: string): string =>
  mountPath !== '' && pathname.startsWith(`${mountPath}/`)
    ? pathname.slice(mountPath.length)
    : pathname

/** Adds the path to the attributes of every rendered element. */
export function mountLinks(): void {
  if (mountPath === '') return
  const next = options.vnode
  options.vnode = (node) => {
    const props = node.props as Record<string, unknown>
    for (const name of ['href', 'src', 'action']) {
      const url = props[name]
      if (typeof node.type === 'string' && typeof url === 'string') props[name] = mountedUrl(url)
    }
    next?.(node)
  }
}
