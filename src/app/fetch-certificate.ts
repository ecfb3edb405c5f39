import { keyCharsMax } from "../verify/fetched-keys.ts";

/**
 * Fetches a certificate from a URL that verification has found to be of the provider's own hosts. The
 * connection proves the host; a redirect could lead away from it and is an error.
 */
export async function fetchCertificate(url: string, { signal }: { readonly signal: AbortSignal }): Promise<string> {
  const response = await fetch(url, { signal, redirect: "error", headers: { accept: "application/x-pem-file, */*" } });
  if (!response.ok) throw new Error(`Cannot fetch the certificate: the provider answered ${response.status}`);
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > keyCharsMax) {
      throw new Error(`Cannot fetch the certificate: it is over ${keyCharsMax} characters`);
    }
  }
  return text;
}
