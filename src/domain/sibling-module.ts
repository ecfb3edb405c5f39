/**
 * The URL of a module beside another one, for what is started by URL instead of imported: the sources
 * run as they are in development, and compiled in the package.
 *
 * @example
 * ```ts
 * siblingModule("file:///app/dist/front/listen.js", "front-thread").href; // "file:///app/dist/front/front-thread.js"
 * ```
 */
export function siblingModule(url: string, name: string): URL {
  return new URL(`./${name}${url.slice(url.lastIndexOf("."))}`, url);
}
