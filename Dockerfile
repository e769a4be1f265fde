# syntax=docker/dockerfile:1
# The sandbox as one static program in an empty image. Its last stage is shown without an engine by `.ci/image`, which reads
# this file.
#
#     docker build --tag invoicing-sandbox .
#     docker run --rm --publish 127.0.0.1:8080:8080 --volume sandbox:/data invoicing-sandbox
#
# Options of the sandbox follow the image's name, `--webhook https://…` or `--help`. It prints http://127.0.0.1:8080 as its
# address; with another port or host, give it `--base-url`.

FROM rust:1.95-slim-bookworm AS build
# glibc resolves names with libraries that a static program has not; musl does it by itself.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends musl-tools \
    && rm -rf /var/lib/apt/lists/* \
    && rustup target add "$(uname -m)-unknown-linux-musl"
ENV TARGET_CC=musl-gcc
WORKDIR /source
COPY . .
# With the release profile of the workspace: as small and as fast as it gets.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --release --locked --package invoicing-sandbox --bin invoicing-sandbox \
        --target "$(uname -m)-unknown-linux-musl" \
    && mkdir --parents /image/data \
    && cp "target/$(uname -m)-unknown-linux-musl/release/invoicing-sandbox" /image/

FROM scratch
LABEL org.opencontainers.image.title="invoicing-sandbox" \
      org.opencontainers.image.description="A server with demo companies, to develop an integration against" \
      org.opencontainers.image.source="https://github.com/invoicing-rs/invoicing" \
      org.opencontainers.image.licenses="(MIT OR Apache-2.0) AND OFL-1.1"
COPY --from=build /image/invoicing-sandbox /invoicing-sandbox
COPY --from=build --chown=65532:65532 /image/data /data
USER 65532:65532
# Documents of a sandbox on PostgreSQL are kept below the home folder.
ENV HOME=/data
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s CMD ["/invoicing-sandbox", "--health-check", "127.0.0.1:8081"]
ENTRYPOINT ["/invoicing-sandbox", "--listen", "0.0.0.0:8080", "--probes", "127.0.0.1:8081", "--db", "sandbox.db"]
