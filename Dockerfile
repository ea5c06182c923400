# A broker in a container:
#
#   docker build -t tamis .
#   docker run -p 8080:8080 -v tamis:/var/lib/tamis tamis
#
# It prints the key of the administrator when it starts for the first time (docker logs).
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml README.md LICENSE requirements.lock /src/
COPY src /src/src
RUN sed -e '/--hash=/d' -e 's/ \\$//' /src/requirements.lock > /src/versions.txt \
 && python -m venv /opt/tamis \
 && /opt/tamis/bin/pip install --no-cache-dir --constraint /src/versions.txt '/src[server,rdf]'

FROM python:3.11-slim
RUN useradd --system --create-home --home-dir /var/lib/tamis tamis
COPY --from=build /opt/tamis /opt/tamis
USER tamis
WORKDIR /var/lib/tamis
VOLUME /var/lib/tamis
EXPOSE 8080
ENV NUMBA_CACHE_DIR=/var/lib/tamis/.numba
HEALTHCHECK CMD ["/opt/tamis/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz')"]
ENTRYPOINT ["/opt/tamis/bin/tamis", "serve"]
CMD ["--host", "0.0.0.0"]
