# The server as one static file in an image without a shell. It needs a Postgres
# beside it: the programs for one of its own aren't in here.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/server ./cmd/server \
 && mkdir /out/data

# Certificates, time zones and the user nonroot (65532), and nothing else.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/server /server
COPY --from=build --chown=65532:65532 /out/data /var/lib/baton
ENV BATON_ADDR=:8080 BATON_DATA_DIR=/var/lib/baton
VOLUME /var/lib/baton
EXPOSE 8080
USER nonroot
ENTRYPOINT ["/server"]
CMD ["serve"]
